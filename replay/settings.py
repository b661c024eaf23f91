"""Settings of a night and their defaults; each can be set as ``REPLAY_<NAME>`` in the environment, an option wins over it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from replay.errors import UsageError
from replay.flag_rates import Limits
from replay.verdict import JudgeSettings

if TYPE_CHECKING:
    from replay.night import NightSettings
    from replay.report import FarAbove
    from replay.sources import Source


_NO_OPTIONS = 'setting REPLAY_{} is no JSON object, write it like {{"endpoint_url": "https://host", "key": "..."}}'


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
    copied_min_choices: int = Field(30, ge=1, description="copied_log: shortest log that is looked at, in choices")
    pace_min_choices: int = Field(30, ge=1, description="superhuman_pace with a clock: shortest log, in choices")
    pace_min_ticks_per_choice: int = Field(4, ge=0, description="superhuman_pace with a clock: below this many ticks a choice")
    even_min_gaps: int = Field(60, ge=1, description="machine_timing: shortest log, in times between inputs")
    even_percent: int = Field(90, ge=1, le=100, description="machine_timing: from this share of equal times on, in percent")
    clock_min_seconds: int = Field(30, ge=1, description="clock_ratio: shortest game by its own clock, in seconds")
    clock_fast_percent: int = Field(90, ge=0, le=100, description="clock_ratio: fast below this percent of the usual wall time")
    clock_slow_percent: int = Field(150, ge=100, description="clock_ratio: slow above this percent of the usual wall time")
    clock_slow_games: int = Field(3, ge=2, description="clock_ratio: slow in so many of a player's games of a day, at one ratio")
    plant: bool = Field(True, description="forge copies of each night's own games, all of which must be caught")
    sample_per_million: int = Field(400, ge=0, le=1_000_000, description="verified games of a million replayed by both engines")
    sample_least: int = Field(20, ge=0, description="verified games of a night replayed by both engines at least")
    withhold_alpha_per_million: int = Field(
        1000, ge=0, le=1_000_000,
        description="held back flags: chance in a million that a night holds an honest app version's back (0: never hold any)",
    )  # fmt: skip
    withhold_least: int = Field(20, ge=1, description="held back flags: fewer of one app version are not held back")
    withhold_times: int = Field(3, ge=2, description="held back flags: only of a share so many times the usual")
    withhold_days: int = Field(28, ge=1, le=366, description="held back flags: published days before that say what is usual")
    flag_rate_times: int = Field(2, ge=1, description="report: a flag rate stands out above so many times the usual")
    flag_rate_least: int = Field(20, ge=1, description="report: fewer flagged games of one reason or client never stand out")

    storage_options: dict[str, Any] | None = Field(
        None, description="lake on an object store: fsspec's options for it, as JSON (endpoint_url, key, secret and others)"
    )
    cache: Path | None = Field(None, description="lake on an object store: folder for what was fetched (~/.cache/nightly-replay)")
    cache_bytes: int = Field(20_000_000_000, ge=0, description="lake on an object store: bytes kept there beyond a call, about")
    lease_seconds: float = Field(60, ge=1, le=3600, description="lake on an object store: when a killed writer's hold runs out")

    reviews: str | None = Field(
        None, repr=False, description="decisions: SQLAlchemy's URL of their database (none: reviews.sqlite in a local lake)"
    )

    source: str | None = Field(None, description="where uploads land: folder or URL with {day} in it (none: in the lake itself)")
    source_options: dict[str, Any] | None = Field(None, description="source: fsspec's options for it, as JSON")
    source_settle: float = Field(5, ge=0, le=600, description="source: seconds between two looks that must see a file unchanged")
    source_patience: float = Field(600, ge=0, description="source: seconds that a night waits for a file that is being written")
    source_retries: int = Field(3, ge=0, le=20, description="source: how often a file that cannot be read is tried again")

    dashboard_token: SecretStr | None = Field(None, description="ops pages: secret that lets read and decide, 16 signs or more")
    dashboard_read_token: SecretStr | None = Field(None, description="ops pages: secret that lets read only")

    def night(self) -> NightSettings:
        """The settings as a night takes them."""
        from replay.night import NightSettings

        return NightSettings(
            rules=self.rules, challenges=self.challenges, players=self.players, tiers=self.tiers, shard_games=self.shard_games,
            threads=self.threads, memory_limit=self.memory_limit, ai_in_percentile=self.ai_in_percentile, judge=self.judge(),
            withhold=self.withhold(), source=self.log_source(), plant=self.plant, sample_per_million=self.sample_per_million,
            sample_least=self.sample_least,
        )  # fmt: skip

    def log_source(self) -> Source | None:
        """Where logs are brought from; None when somebody else puts them into the lake."""
        from replay.sources import Source

        if not self.source:
            return None
        return Source(self.source, self.source_options or {}, self.source_settle, self.source_patience, self.source_retries)

    def far_above(self) -> FarAbove:
        """When a flag rate stands out in a report."""
        from replay.report import FarAbove

        return FarAbove(self.flag_rate_times, self.flag_rate_least)

    def withhold(self) -> Limits:
        """When flags are held back."""
        return Limits(**{each.name: getattr(self, f"withhold_{each.name}") for each in fields(Limits)})

    def judge(self) -> JudgeSettings:
        """The limits of the suspicions."""
        return JudgeSettings(**{each.name: getattr(self, each.name) for each in fields(JudgeSettings)})


def load_settings(**options: Any) -> Settings:
    """Settings from the environment, with the options that were given (not None) on top.  Raises UsageError."""
    try:
        return Settings(**{name: value for name, value in options.items() if value is not None})
    except SettingsError as error:
        # The words of this error name the field; its value, which is no JSON at all, may hold a secret.
        field = str(error).partition('"')[2].partition('"')[0]
        raise UsageError(_NO_OPTIONS.format(field.upper())) from None
    except ValidationError as error:
        first = error.errors()[0]
        if first["loc"][0] in ("storage_options", "source_options"):
            # Its value may hold a secret.
            raise UsageError(_NO_OPTIONS.format(str(first["loc"][0]).upper())) from error
        if first["loc"][0] == "reviews":
            # So may this one, and the error that it is raised from.
            raise UsageError("setting REPLAY_REVIEWS is no text, write it like postgresql://user:password@host/base") from None
        problem = first["msg"][:1].lower() + first["msg"][1:]
        raise UsageError(f"setting REPLAY_{str(first['loc'][0]).upper()} is {first['input']!r}: {problem}") from error
