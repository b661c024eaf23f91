"""One chunk of random games through the slow twin, the interpreted and the compiled engine; importable by worker processes."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from engine.blocks import kernel as k
from engine.blocks.rules import BlocksRules
from engine.outcome import BOARD_DIFFERS, BOARD_EQUAL, BOARD_UNREADABLE
from tests.engine.random_games import SETTINGS, Played, make_games
from tests.engine.support import Case, batch_rows, hash_faults, interpreted, opened, replay_batch
from tests.reference import blocks as twin

CHUNK = 100


def board_verdict(values: twin.Values, claim: bytes, board: str) -> int:
    """How the claim compares with the board, by the twin's own reader."""
    cells = twin.read_board(claim.decode("latin-1"), values.width, values.height)
    if cells is None:
        return BOARD_UNREADABLE
    return BOARD_EQUAL if cells == twin.read_board(board, values.width, values.height) else BOARD_DIFFERS


def fast_case(rules: BlocksRules, case: Case, expected: twin.Result) -> twin.Result | None:
    """The fast case's source on plain lists, None where it does not apply or leaves the log to the judge of faults."""
    stride = k.token_stride(case.log, 0, len(case.log)) if rules.fast_tables and case.pieces is None else 0
    if not stride:
        return None
    tokens = (len(case.log) + stride - 3) // stride
    deal, rows, st = [0] * (tokens + 4), [0] * k.MAX_SIDE, [0] * k.N_STATE
    k.fill_deal(case.seed, len(rules.shapes), deal, 0, len(deal))
    board = sum(row << (8 * y) for y, row in enumerate(case.deal(rules).start))
    masks, anchors, offsets = rules.fast_tables
    code = k.replay_8x8(case.log, 0, tokens, stride, rules.params, masks, anchors, offsets, rules.base, deal, 0, board, rows, st)
    if code != k.END:
        assert expected.fault is not None, f"the fast case gave up a legal log: {case}"
        return None
    cells = {(x, y) for y in range(8) for x in range(8) if rows[y] >> x & 1}
    over = bool(st[k.ST_POSITION])
    return twin.Result(st[k.ST_SCORE], st[k.ST_BEST], twin.write_board(cells, 8, 8), st[k.ST_MOVES], over, None)


def missing_token_faults(rules: BlocksRules, games: list[Played]) -> list[str]:
    """For the first honest game that ends with a placement: cut by a token, its claims would be completed by one more."""
    for played in games:
        if not played.tokens or played.tokens[-1] == "*":
            continue
        case, right = played.case, played.expected
        cut = opened(rules, Case(" ".join(played.tokens[:-1]).encode(), case.mode, case.seed, case.pieces, case.start))
        cut.run()
        found = [
            cut.completes(right.score, right.best_combo, right.board),
            cut.completes(right.score + 4 * 11, right.best_combo, right.board),
            cut.completes(right.score, right.best_combo + 1, right.board),
        ]
        return [] if found == [True, False, False] else [f"completes says {found} of {played}"]
    return []


def check_chunk(chunk: int, games: int = CHUNK) -> tuple[list[str], int, int]:
    """Make and compare the games of one chunk: (what differs, games that the fast case took, tokens applied)."""
    setting = SETTINGS[chunk % len(SETTINGS)]
    values = setting.values()
    with tempfile.TemporaryDirectory() as folder:
        rules = setting.rules(Path(folder))
    played = make_games(random.Random(f"blocks {chunk}"), values, games)
    out = replay_batch(rules, [game.case for game in played])
    faults, fast = [], 0
    for at, (game, got) in enumerate(zip(played, batch_rows(rules, out), strict=True)):
        claimed = board_verdict(values, game.case.claim, game.expected.board)
        found = {"compiled": got, "interpreted": interpreted(rules, game.case)}
        by_lists = fast_case(rules, game.case, game.expected)
        if by_lists is not None:
            fast += 1
            found["fast case, interpreted"] = by_lists
        where = f"chunk {chunk}, game {at} ({setting})\nstate: {game.case}\nexpected: {game.expected}"
        faults += [f"{where}\ngot:      {result} ({who})" for who, result in found.items() if result != game.expected]
        if int(out.board[at]) != claimed:
            faults.append(f"{where}\nclaimed board: expected {claimed}, got {int(out.board[at])}")
        text = game.case.claim.decode("latin-1")
        one = opened(rules, game.case)
        one.run()
        if one.board_equals(text) != claimed:
            faults.append(f"{where}\nclaimed board, interpreted: expected {claimed}, got {one.board_equals(text)}")
        if game.tokens is not None and not (len(game.tokens) == game.expected.moves == int(out.received[at])):
            faults.append(f"{where}\na legal log of {len(game.tokens)} tokens, received {int(out.received[at])}")
        if one.status < 0 and not one.fault_text():
            faults.append(f"{where}\nthe fault has no text")
    faults += [f"chunk {chunk}: {fault}" for fault in hash_faults([game.case.log for game in played], out.log_hash.tolist())]
    faults += [f"chunk {chunk}: {fault}" for fault in missing_token_faults(rules, played)]
    return faults, fast, sum(game.expected.moves for game in played)
