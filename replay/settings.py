"""Settings of a night and their defaults; each can be set as ``REPLAY_<NAME>`` in the environment, an option wins over it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from replay.errors import UsageError
from replay.verdict import JudgeSettings

if TYPE_CHECKING:
    from replay.night import NightSettings


class Settings(BaseSettings):
    """What an operator may set; ``NightSettings`` is what a night takes."""

    model_config = SettingsConfigDict(env_prefix="REPLAY_", extra="forbid")

    rules: Path | None = Field(None, description="folder of rules files in place of the built-in ones")
    challenges: Path | None = Field(None, description="challenge table in place of seeds/challenges.csv")
    players: Path | None = Field(None, description="table of removed and anonymised players in place of seeds/players.csv")
    tiers: Path | None = Field(None, description="rank tiers in place of seeds/rank_tiers.csv")
    shard_games: int = Field(250_000, ge=1, description="games a shard, about")
    threads: int | None = Field(None, ge=1, description="threads, every core by default")
    memory_limit: str = Field(
        "512MB", pattern=r"^[0-9]+(\.[0-9]+)?[KMGT]i?B$",
        description="DuckDB's memory limit while it relates uploads and builds standings",
    )  # fmt: skip
    ai_in_percentile: bool = Field(True, description="AI players count in a day's positions and percentiles")
    pace_min_tokens: int = Field(10, ge=1, description="superhuman_pace: shortest log that is looked at, in moves")
    pace_min_ms_per_token: int = Field(200, ge=0, description="superhuman_pace: below this many milliseconds a move")
    look_back: int = Field(3, ge=0, description="days before the night's day whose logs are looked at again for late files")
    copied_min_tokens: int = Field(30, ge=1, description="copied_log: shortest log that is looked at, in moves")

    def night(self) -> NightSettings:
        """The settings as a night takes them."""
        from replay.night import NightSettings

        return NightSettings(
            rules=self.rules, challenges=self.challenges, players=self.players, tiers=self.tiers, shard_games=self.shard_games,
            threads=self.threads, memory_limit=self.memory_limit, ai_in_percentile=self.ai_in_percentile, judge=self.judge(),
        )  # fmt: skip

    def judge(self) -> JudgeSettings:
        """The limits of the suspicions."""
        return JudgeSettings(self.pace_min_tokens, self.pace_min_ms_per_token, self.copied_min_tokens)


def load_settings(**options: Any) -> Settings:
    """Settings from the environment, with the options that were given (not None) on top.  Raises UsageError."""
    try:
        return Settings(**{name: value for name, value in options.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        problem = first["msg"][:1].lower() + first["msg"][1:]
        raise UsageError(f"setting REPLAY_{str(first['loc'][0]).upper()} is {first['input']!r}: {problem}") from error
