"""The steps of a release, from a table to a published folder, under Prefect or not.

Importing Prefect costs more than a second of CPU, which a plain run does not pay.
"""

from pathlib import Path

from tasks.arrange import arrange_lines
from tasks.check_repeats import check_repeats
from tasks.choose_fragments import choose_fragments
from tasks.chunks import anonymize_chunks
from tasks.cluster.connect import on_cluster
from tasks.compare_earlier import compare_earlier
from tasks.config import Config
from tasks.enforce import enforce_non_reconstructibility
from tasks.fragment import fragment_features
from tasks.keep_for_later import keep_for_later
from tasks.load import load_table
from tasks.look_back import look_back
from tasks.measure_release import measure_baseline, measure_release
from tasks.measure_risks import measure_risks
from tasks.measure_utility import measure_utility
from tasks.merge import merge_chunks
from tasks.mutual_information import measure_mutual_information
from tasks.publish import publish_release
from tasks.report import write_report
from tasks.reports.artifacts import show_promises, show_release, shown_in_prefect
from tasks.segment import segment_records
from tasks.sign import require_key, sign_release
from tasks.try_learning import try_learning
from tasks.workspace import workspace
from tasks.write import write_fragments
from validations.attack_release import attack_release
from validations.check_release import check_release, require

STEPS = 24


def release_table(config: Config) -> Path:
    """Publish a table, or say why not: what `flows.release.release` does, with Prefect or without."""
    require_key(config)
    with (
        shown_in_prefect(STEPS),
        workspace(config) as run,
        on_cluster(config.run, run.store.parent),
    ):
        load_table(run.store, config)
        unchanged = look_back(run.store, config)
        if unchanged is not None:
            return unchanged
        compare_earlier(run.store, config)
        measure_mutual_information(run.store, config)
        config = config.with_fragments(choose_fragments(run.store, config))
        fragment_features(run.store, config)
        batches = segment_records(run.store, config)
        chunks = anonymize_chunks.map(run.store, batches, config)
        merge_chunks(run.store, chunks, batches, config)
        enforce_non_reconstructibility(run.store, config)
        arrange_lines(run.store, config)
        measure_baseline(run.store, config)
        measure_release(run.store)
        measure_risks(run.store, config)
        measure_utility(run.store, config)
        check_repeats(run.store, config)
        write_fragments(run.store, config, run.staging, run.version)
        verdict = check_release(run.store, config, run.staging)
        show_promises(verdict.promises)
        require(run.store, verdict)
        attack_release(run.store, config, run.staging)
        try_learning(run.store, config)
        write_report(run.store, config, run.staging, verdict)
        sign_release(run.store, config, run.staging)
        keep_for_later(run.store, config, run.version)
        folder = publish_release(run.store, run.staging, run.version)
        show_release(folder)
        return folder
