"""Runs one Great Expectations suite per promise on its evidence, one after the other."""

import json
import logging
from typing import NamedTuple

import great_expectations as gx
from great_expectations.core.expectation_validation_result import ExpectationSuiteValidationResult
from great_expectations.data_context.data_context.ephemeral_data_context import EphemeralDataContext
from great_expectations.data_context.types.base import ProgressBarsConfig

from validations import (
    classes,
    delta,
    formats,
    fragments,
    hashes,
    join_records,
    joins,
    k_anonymity,
    l_diversity,
    limits,
    manifest,
    order,
    persons,
    records,
    segments,
    t_closeness,
)
from validations.evidence import Evidence
from validations.findings import Finding
from validations.promises import Promises


class Document(NamedTuple):
    """The documents of one promise, as JSON text.

    Attributes
    ----------
    name
        The promise's short name.
    result
        What Great Expectations found.
    suite
        What it was asked to expect.
    """

    name: str
    result: str
    suite: str


class Judged(NamedTuple):
    """A finding, whether it is as expected, and the documents that say so."""

    finding: Finding
    success: bool
    document: Document


def judge(promises: Promises, evidence: Evidence) -> tuple[Judged, ...]:
    """Judge the evidence for every promise that was made.

    Parameters
    ----------
    promises
        What was promised.
    evidence
        What the files show.
    """
    context = quiet_context()
    return tuple(validate(context, finding) for finding in _findings(promises, evidence))


def quiet_context() -> EphemeralDataContext:
    """Return a context of Great Expectations that keeps all in memory and shows nothing."""
    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    return context


def _findings(promises: Promises, evidence: Evidence) -> list[Finding]:
    join_promise = delta if promises.class_values == "per_class" else joins
    join_promises = (join_promise, join_records) if promises.guarantee == "records" else (join_promise,)
    always = (k_anonymity, *join_promises, classes, records, fragments, order, formats, hashes)
    found = [promise.finding(promises, evidence) for promise in always]
    if promises.diversity is not None:
        found.append(l_diversity.finding(promises, evidence, promises.diversity))
    if promises.closeness is not None:
        found.append(t_closeness.finding(promises, evidence, promises.closeness))
    if evidence.segments is not None:
        found.append(segments.finding(promises, evidence))
    if promises.counts_persons:
        found.append(persons.finding(promises, evidence))
    if promises.max_information_loss is not None or promises.max_changed_class_values is not None:
        found.append(limits.finding(promises))
    if manifest.statements(promises, evidence):
        found.append(manifest.finding(promises, evidence))
    return found


def validate(context: EphemeralDataContext, finding: Finding) -> Judged:
    """Run the suite of a finding on its evidence.

    Parameters
    ----------
    context
        See `quiet_context`; a finding's name is used once in it.
    finding
        The evidence and what is expected of it.
    """
    suite = gx.ExpectationSuite(name=finding.name, expectations=list(finding.expectations))
    source = context.data_sources.add_pandas(finding.name)
    whole = source.add_dataframe_asset(finding.name).add_batch_definition_whole_dataframe("evidence")
    result = whole.get_batch({"dataframe": finding.evidence}).validate(suite, result_format="SUMMARY")
    success = bool(result.success) and _is_complete(finding, result)
    return Judged(finding, success, _document(finding, suite, result, success=success))


def _is_complete(finding: Finding, result: ExpectationSuiteValidationResult) -> bool:
    """Return whether exactly the expected expectations were evaluated, and each was met."""
    expected = sorted(expectation.expectation_type for expectation in finding.expectations)
    evaluated = sorted(
        each.expectation_config.type for each in result.results if each.expectation_config is not None
    )
    return evaluated == expected and all(each.success for each in result.results)


def _document(
    finding: Finding,
    suite: gx.ExpectationSuite,
    result: ExpectationSuiteValidationResult,
    *,
    success: bool,
) -> Document:
    found, asked = result.to_json_dict(), suite.to_json_dict()  # type: ignore[no-untyped-call]
    words = {"title": finding.title, "asked": finding.asked, "achieved": finding.achieved}
    found["success"] = success
    found["meta"] = {
        "great_expectations_version": gx.__version__,
        **words,
        "query": finding.query,
        "note": finding.note,
    }
    return Document(finding.name, json.dumps(found, indent=2), json.dumps(asked, indent=2))
