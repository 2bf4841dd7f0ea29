"""A pointer's history in random order: publishes, replays, lost races, rollbacks; the catalog agrees with a model."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from sqlalchemy import Engine

from headrace.catalog.records import CheckResult, CheckStatus, InputRequest, Outcome, PinReason
from headrace.database.connection import transaction
from headrace.errors import MissingVersion, RollbackRefused
from headrace.publishing.pins import resolve
from headrace.publishing.publication import generations, publish
from headrace.publishing.rollback import rollback

PARTITIONS = st.sampled_from([None, "a", "b"])


def test_every_history_is_kept(catalog: Engine, draft: Any) -> None:
    class Pointers(RuleBasedStateMachine):
        """The model: for each partition the moves so far, as tags; and the tags published under each key."""

        def __init__(self) -> None:
            super().__init__()
            with transaction(catalog) as cursor:
                cursor.execute(
                    "TRUNCATE catalog.published_pointer, catalog.pointer_move, catalog.dataset_version, "
                    "catalog.version_input, catalog.quality_check_result CASCADE"
                )
            self.moves = {None: [], "a": [], "b": []}  # type: ignore[var-annotated]
            self.tags_of_keys: dict[Any, Any] = {}
            self.first_published: dict[Any, Any] = {}
            self.moments: list[Any] = []

        @rule(partition=PARTITIONS, late=st.integers(0, 2), bad=st.booleans(), key=st.integers(0, 30))
        def publish(self, partition: Any, late: Any, bad: Any, key: Any) -> None:
            generation = len(self.moves[partition])
            expected = max(generation - late, 0)
            checks = (CheckResult("c", CheckStatus.FAIL, 1),) if bad else ()
            name = f"{key}/{partition}"
            given = draft(partition=partition, generation=expected, key=name, checks=checks)
            (answer,) = publish(catalog, None, [given])
            if name in self.tags_of_keys:
                assert answer.replayed
                assert answer.version.tag == self.tags_of_keys[name]
                return
            assert not answer.replayed
            if bad:
                assert answer.outcome is Outcome.BLOCKED
            elif expected != generation:
                assert answer.outcome is Outcome.SUPERSEDED
            else:
                assert answer.outcome is Outcome.PUBLISHED
                self.tags_of_keys[name] = given.tag
                self.first_published[given.tag] = generation
                self.moves[partition].append(given.tag)
            assert answer.generation == len(self.moves[partition])

        @rule(partition=PARTITIONS)
        def roll_back(self, partition: Any) -> None:
            moves = self.moves[partition]
            before = self.first_published[moves[-1]] if moves else 0
            if before == 0:
                with pytest.raises(RollbackRefused):
                    rollback(catalog, "mart/delays", partition, None, by="x", reason="y")
            else:
                answer = rollback(catalog, "mart/delays", partition, None, by="x", reason="y")
                assert answer.version.tag == moves[before - 1]
                moves.append(answer.version.tag)

        @rule()
        def remember(self) -> None:
            now = datetime.now(UTC)
            self.moments.append((now, {p: moves[-1] if moves else None for p, moves in self.moves.items()}))

        @invariant()
        def generations_count_the_moves(self) -> None:
            found = generations(catalog, [("mart/delays", partition) for partition in self.moves])
            assert {p: found["mart/delays", p] for p in self.moves} == {
                p: len(moves) for p, moves in self.moves.items()
            }

        @invariant()
        def readers_get_the_last_move(self) -> None:
            for partition, moves in self.moves.items():
                request = InputRequest("mart/delays", "mart/report", (partition,))
                if moves:
                    ((resolved,),) = resolve(catalog, [request])
                    assert (resolved.version.tag, resolved.reason) == (moves[-1], PinReason.PUBLISHED)
                else:
                    with pytest.raises(MissingVersion):
                        resolve(catalog, [request])

        def teardown(self) -> None:
            for moment, then in self.moments:
                for partition, tag in then.items():
                    request = InputRequest("mart/delays", "mart/report", (partition,), as_of=moment)
                    if tag is None:
                        with pytest.raises(MissingVersion):
                            resolve(catalog, [request])
                    else:
                        ((resolved,),) = resolve(catalog, [request])
                        assert (resolved.version.tag, resolved.reason) == (tag, PinReason.AS_OF)

    run_state_machine_as_test(
        Pointers,
        settings=settings(
            max_examples=15, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
