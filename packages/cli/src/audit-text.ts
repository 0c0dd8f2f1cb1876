import { isList, isObject, type Json, type JsonObject, getMember, filterObjects } from './json.ts'
import { formatFields, formatSection, formatTable, formatJson } from './text-format.ts'

/** `unsigned`: the auditor accepts that log heads do not prove the log (`--unsigned`). */
export function formatVerifyReport(
  report: Json,
  { source, unsigned = false }: { readonly source: AuditSource; readonly unsigned?: boolean },
): string {
  const isIntact =
    getMember(report, 'divergences') === 0 && getMember(report, 'first') === null && getMember(report, 'ledger_balanced') === true
  const log = getMember(report, 'log')
  const counts = isObject(report)
    ? Object.fromEntries(Object.entries(report).filter(([name]) => !['first', 'findings', 'log'].includes(name)))
    : {}
  const findings = filterObjects(getMember(report, 'findings'))
  const findingsText = findings.length === 0 ? [] : [formatSection('Findings', formatTable(findings))]
  const verdict = isIntact ? 'Every stream folds to its recorded state.' : 'The store fails the audit.'
  const unproven = describeHeadsFault(log, source)
  // If facts may have been removed, a note would make later audits accept the log without them.
  const hasNote = isIntact && (unproven === undefined || unsigned)
  const heads = isObject(log) ? [formatSection('Log heads', formatFields(selectLogFields(log, hasNote))), ...formatGaps(log)] : []
  const keepNote = hasNote && isObject(log) ? [unproven === undefined ? KEEP_NOTE_TEXT : UNPROVEN_NOTE_TEXT] : []
  return [
    verdict,
    formatJson(counts),
    ...findingsText,
    ...heads,
    ...(unproven === undefined ? [] : [unproven]),
    ...keepNote,
  ].join('\n\n')
}

const selectLogFields = ({ note, gaps: _, ...log }: JsonObject, hasNote: boolean): JsonObject =>
  hasNote && note !== undefined ? { ...log, note } : log

function formatGaps(log: JsonObject): readonly string[] {
  const gaps = filterObjects(getMember(log, 'gaps'))
  return gaps.length === 0 ? [] : [formatSection('Gaps: parts of the log that no head covered in time', formatTable(gaps))]
}

const KEEP_NOTE_TEXT = 'Keep the note elsewhere, and give it to the next audit: it proves the log up to here.'
const UNPROVEN_NOTE_TEXT =
  'The next audit can use this note to show that the log up to here has not changed since now. Its earlier state stays unproven.'
const MINUTE_MS = 60_000
/** The subject of an audit: a store without its service, a running service, or the exported file of one order. */
export type AuditSource = 'store' | 'service' | 'file'

const NOTE_HINT = "give a --note of the log's end"
const FAULTLESS_NOTE_HINT = `${NOTE_HINT} that an audit without findings printed,`
const VERIFY_STORE_HINT = 'Verify the store itself (--store)'
/** The auditor's remedies for a missing proof. The options --heads and --key exist only for a store or a file. */
const REMEDIES: Readonly<Record<AuditSource, Readonly<Record<'heads' | 'key' | 'late', string>>>> = {
  store: {
    heads: `Give their folder with --heads, ${NOTE_HINT},`,
    key: `Give the key with --key, ${NOTE_HINT},`,
    late: `Give the folder of a copy with --heads, ${FAULTLESS_NOTE_HINT}`,
  },
  service: {
    heads: `${VERIFY_STORE_HINT} with a copy of them, ${NOTE_HINT},`,
    key: `${VERIFY_STORE_HINT} with the key, ${NOTE_HINT},`,
    late: `${VERIFY_STORE_HINT} with a copy of the heads, ${FAULTLESS_NOTE_HINT}`,
  },
  file: {
    heads: 'Give the folder of a copy with --heads,',
    key: 'Give the key with --key,',
    late: 'Give the folder of a later copy with --heads,',
  },
}

/** @returns a sentence with the reason why log heads do not prove the log to be complete; undefined if they prove it */
export function describeHeadsFault(log: Json, source: AuditSource): string | undefined {
  const unproven = isObject(log) ? log['unproven'] : 'no heads'
  const { heads, key, late } = REMEDIES[source]
  if (unproven === null) return undefined
  if (unproven === 'no key')
    return `The key that checks the signatures of the log heads is missing, so they prove nothing. ${key} or use --unsigned.`
  if (unproven === 'gap')
    return `A part of the log stood without heads for longer than a kill explains: ${describeGap(log)}. Its state before then stays unproven. ${GAP_REMEDY}`
  if (unproven === 'uncovered')
    return `No log head covers the last ${toPrintable(getMember(log, 'events_after'))} events: the newest heads were removed, or none were written then. ${late} or use --unsigned.`
  if (unproven === 'late')
    return `The log continues for ${Math.floor(Number(getMember(log, 'late_ms')) / MINUTE_MS)} minutes after its last head: the newest heads were removed, or none were written then. ${late} or use --unsigned.`
  return `There are no log heads, so a removal of the last events of a stream or of the log would stay unnoticed. ${heads} or use --unsigned.`
}

const GAP_REMEDY =
  'Compare the log with a --note from before the gap; or use --unsigned once, and give the note of that audit from then on.'

function describeGap(log: Json): string {
  const gap = filterObjects(getMember(log, 'gaps')).at(-1)
  const at = new Date(Number(getMember(gap, 'at'))).toISOString()
  return `${toPrintable(getMember(gap, 'events'))} events up to position ${toPrintable(getMember(gap, 'position'))}, recorded at ${at}`
}

export function formatReplay(replay: Json, isFull: boolean): string {
  const states = new Map<string, Json>()
  const facts = filterObjects(getMember(replay, 'facts')).map((fact) => {
    const stream = toPrintable(getMember(fact, 'stream'))
    const state = getMember(fact, 'state')
    const changes = describeChanges(states.get(stream) ?? null, state)
    states.set(stream, state)
    const when = new Date(Number(getMember(fact, 'at'))).toISOString()
    const title = `${when}  #${toPrintable(getMember(fact, 'position'))}  ${toPrintable(getMember(fact, 'fact'))}\n${stream} revision ${toPrintable(getMember(fact, 'revision'))}`
    const stateText = isFull ? indentJson(state) : changes.length > 0 ? changes.join('\n') : '(no change)'
    return `${title}\n${formatSection('  fact', indentJson(getMember(fact, 'data')))}\n${formatSection('  state', stateText)}`
  })
  return facts.join('\n\n')
}

const indentJson = (value: Json): string =>
  (isObject(value) || isList(value) ? formatLeaves(value, '') : toPrintable(value)).replace(/^/gm, '  ')

function formatLeaves(value: JsonObject | readonly Json[], path: string): string {
  const leaves = [...listLeaves(value, path)]
  return leaves.length === 0 ? '(nothing)' : leaves.map(([name, leaf]) => `${name} ${toPrintable(leaf)}`).join('\n')
}

/** Lists each leaf of a state (a plain value, `{}` or `[]`) with its path. */
function* listLeaves(value: Json, path: string): Generator<readonly [path: string, value: Json]> {
  const members = isList(value)
    ? value.map((one, index) => [`${path}[${index}]`, one] as const)
    : isObject(value)
      ? Object.entries(value).map(([name, one]) => [path ? `${path}.${name}` : name, one] as const)
      : []
  if (members.length === 0) yield [path, isObject(value) ? '{}' : isList(value) ? '[]' : value]
  else for (const [name, one] of members) yield* listLeaves(one, name)
}

function describeChanges(before: Json, after: Json): readonly string[] {
  const [old, now] = [new Map(listLeaves(before, '')), new Map(listLeaves(after, ''))]
  const removed = [...old]
    .filter(([path]) => path !== '' && !now.has(path))
    .map(([path, value]) => `  ${path} ${toPrintable(value)} -> gone`)
  const changed = [...now].filter(([path, value]) => old.get(path) !== value)
  return [
    ...changed.map(([path, value]) =>
      old.has(path)
        ? `  ${path} ${toPrintable(old.get(path) ?? null)} -> ${toPrintable(value)}`
        : `  ${path} ${toPrintable(value)}`,
    ),
    ...removed,
  ]
}

/** Replaces control characters. The text may come from a buyer or a seller, and a terminal would interpret the characters. */
const toPrintable = (value: Json): string =>
  (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(/\p{Cc}/gu, '\u{fffd}')

export function formatDiff(report: Json): string {
  const differences = filterObjects(getMember(report, 'differences'))
  const counts = `${toPrintable(getMember(report, 'events'))} events of ${toPrintable(getMember(report, 'streams'))} streams`
  const failing = filterObjects(getMember(report, 'failing'))
  if (differences.length + failing.length === 0) return `Both versions derive the same states from ${counts}.`
  const differencesText =
    differences.length === 0 ? 'no streams differ' : `${differences.length} streams differ:\n\n${formatTable(differences)}`
  const failingText =
    failing.length === 0 ? '' : `\n\nNeither version can fold ${failing.length} streams to their end:\n\n${formatTable(failing)}`
  return `${counts}; ${differencesText}${failingText}`
}

/** Missing proofs that an auditor of an exported order accepts: no signatures, or a file older than the log heads. */
export type ExportTolerance = { readonly unsigned?: boolean; readonly earlier?: boolean }

/** @returns a sentence with the reason why log heads do not prove an exported order complete; undefined if they prove it */
export function describeExportFault(
  report: Json,
  { unsigned = false, earlier = false }: ExportTolerance = {},
): string | undefined {
  const log = getMember(report, 'log')
  const unproven = unsigned ? undefined : describeHeadsFault(log, 'file')
  if (unproven !== undefined) return unproven
  const grownStreams = Number(getMember(log, 'gone_on'))
  if (grownStreams > 0 && !earlier)
    return `According to the log heads ${grownStreams} of this order's streams have more facts than the file: the file is older, or facts were removed from it. Export the order again, or say --earlier.`
  const uncoveredFacts = Number(getMember(log, 'events_after'))
  if (uncoveredFacts > 0)
    return `No log head has ${uncoveredFacts} of the facts in the streams of this order: they were recorded after the last head, or they are forged. Compare with a later copy of the heads; if it covers more facts than the file has, export the order again.`
  return undefined
}

const NO_HEADS_TEXT = 'The file is consistent. To prove it whole and from your market, compare it with log heads: --heads.'

export function formatCheckReport(report: Json): string {
  const divergences = filterObjects(getMember(report, 'divergences'))
  const verdict =
    divergences.length === 0 && getMember(report, 'ledger_balanced') === true
      ? 'The file is whole.'
      : 'The file does not pass the check.'
  const counts = isObject(report)
    ? Object.fromEntries(Object.entries(report).filter(([name]) => !['divergences', 'head', 'log'].includes(name)))
    : {}
  const head = getMember(report, 'head')
  const log = getMember(report, 'log')
  return [
    verdict,
    formatJson(counts),
    ...(divergences.length > 0 ? [formatTable(divergences)] : []),
    ...(isObject(head) ? [formatSection('Log head at the export', formatFields(head))] : []),
    isObject(log) ? formatSection('Compared with log heads', formatFields(log)) : NO_HEADS_TEXT,
  ].join('\n\n')
}
