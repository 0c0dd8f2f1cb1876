import { isList, isObject, type Json, type JsonObject, member, objectsOf } from './json.ts'
import { fields, section, table, textOf } from './text.ts'

/** What audits print for people. */

/** `unsigned`: the auditor is content with what is there. */
export function verifyText(
  report: Json,
  { of, unsigned = false }: { readonly of: Audited; readonly unsigned?: boolean },
): string {
  const isWhole =
    member(report, 'divergences') === 0 && member(report, 'first') === null && member(report, 'ledger_balanced') === true
  const log = member(report, 'log')
  const counts = isObject(report)
    ? Object.fromEntries(Object.entries(report).filter(([name]) => !['first', 'findings', 'log'].includes(name)))
    : {}
  const findings = objectsOf(member(report, 'findings'))
  const found = findings.length === 0 ? [] : [section('Findings', table(findings))]
  const verdict = isWhole ? 'Every stream folds to its recorded state.' : 'The store is not what it was.'
  const unproven = headsFault(log, of)
  // The note of a store that may have been cut would vouch for the cut.
  const isNoted = isWhole && (unproven === undefined || unsigned)
  const heads = isObject(log) ? [section('Log heads', fields(shownLog(log, isNoted))), ...gapsOf(log)] : []
  const keep = isNoted && isObject(log) ? [unproven === undefined ? NOTE : NOTE_OF_NOW] : []
  return [verdict, textOf(counts), ...found, ...heads, ...(unproven === undefined ? [] : [unproven]), ...keep].join('\n\n')
}

const shownLog = ({ note, gaps: _, ...log }: JsonObject, isNoted: boolean): JsonObject =>
  isNoted && note !== undefined ? { ...log, note } : log

function gapsOf(log: JsonObject): readonly string[] {
  const gaps = objectsOf(member(log, 'gaps'))
  return gaps.length === 0 ? [] : [section('Gaps: parts of the log that no head covered in time', table(gaps))]
}

const NOTE = 'Keep the note elsewhere, and give it to the next audit: it proves the log up to here.'
const NOTE_OF_NOW =
  'The note, given to the next audit, tells whether the log up to here is still what it is now. What it was before, nothing proves.'
const MINUTE_MS = 60_000
/** What is audited: a store without its service, a service, or the exported file of one order. */
export type Audited = 'store' | 'service' | 'file'

const END = "give a --note of the log's end"
const GOOD = `${END} that an audit without faults gave you,`
const ITSELF = 'Verify the store itself (--store)'
/** What its auditor can do about it; heads and key go with a store or a file. */
const HELP: Readonly<Record<Audited, Readonly<Record<'heads' | 'key' | 'late', string>>>> = {
  store: {
    heads: `Name their folder with --heads, ${END},`,
    key: `Name the key with --key, ${END},`,
    late: `Name the folder of a copy with --heads, ${GOOD}`,
  },
  service: {
    heads: `${ITSELF} with a copy of them, ${END},`,
    key: `${ITSELF} with the key, ${END},`,
    late: `${ITSELF} with a copy of the heads, ${GOOD}`,
  },
  file: {
    heads: 'Name the folder of a copy with --heads,',
    key: 'Name the key with --key,',
    late: 'Name the folder of a later copy with --heads,',
  },
}

/** Why log heads do not prove that nothing was cut off, as a sentence; undefined where they do. */
export function headsFault(log: Json, of: Audited): string | undefined {
  const unproven = isObject(log) ? log['unproven'] : 'no heads'
  const { heads, key, late } = HELP[of]
  if (unproven === null) return undefined
  if (unproven === 'no key')
    return `No key is there to check the signatures of the log heads, so they prove nothing. ${key} or say --unsigned.`
  if (unproven === 'gap')
    return `A part of the log stood without heads for longer than a kill explains: ${gapText(log)}. What it was before then, nothing proves. ${GAP_HELP}`
  if (unproven === 'uncovered')
    return `No log head covers the last ${text(member(log, 'events_after'))} events: the newest heads were taken away, or none were written then. ${late} or say --unsigned.`
  if (unproven === 'late')
    return `The log goes on for ${Math.floor(Number(member(log, 'late_ms')) / MINUTE_MS)} minutes after its last head: the newest heads were taken away, or none were written then. ${late} or say --unsigned.`
  return `There are no log heads: nothing tells whether the last events of a stream, or of the log, were removed. ${heads} or say --unsigned.`
}

const GAP_HELP =
  'Compare with a --note from before it. Content with what is there, say --unsigned once, and give the note of that audit from then on.'

function gapText(log: Json): string {
  const gap = objectsOf(member(log, 'gaps')).at(-1)
  const at = new Date(Number(member(gap, 'at'))).toISOString()
  return `${text(member(gap, 'events'))} events up to position ${text(member(gap, 'position'))}, noted at ${at}`
}

export function replayText(replay: Json, isFull: boolean): string {
  const states = new Map<string, Json>()
  const facts = objectsOf(member(replay, 'facts')).map((fact) => {
    const stream = text(member(fact, 'stream'))
    const state = member(fact, 'state')
    const changes = changesOf(states.get(stream) ?? null, state)
    states.set(stream, state)
    const when = new Date(Number(member(fact, 'at'))).toISOString()
    const title = `${when}  #${text(member(fact, 'position'))}  ${text(member(fact, 'fact'))}\n${stream} revision ${text(member(fact, 'revision'))}`
    const told = isFull ? indented(state) : changes.length > 0 ? changes.join('\n') : '(no change)'
    return `${title}\n${section('  fact', indented(member(fact, 'data')))}\n${section('  state', told)}`
  })
  return facts.join('\n\n')
}

const indented = (value: Json): string => (isObject(value) || isList(value) ? lines(value, '') : text(value)).replace(/^/gm, '  ')

function lines(value: JsonObject | readonly Json[], path: string): string {
  const leaves = [...leavesOf(value, path)]
  return leaves.length === 0 ? '(nothing)' : leaves.map(([name, leaf]) => `${name} ${text(leaf)}`).join('\n')
}

/** Each plain value in a state, with its path. */
function* leavesOf(value: Json, path: string): Generator<readonly [path: string, value: Json]> {
  const members = isList(value)
    ? value.map((one, index) => [`${path}[${index}]`, one] as const)
    : isObject(value)
      ? Object.entries(value).map(([name, one]) => [path ? `${path}.${name}` : name, one] as const)
      : []
  if (members.length === 0) yield [path, isObject(value) ? '{}' : isList(value) ? '[]' : value]
  else for (const [name, one] of members) yield* leavesOf(one, name)
}

function changesOf(before: Json, after: Json): readonly string[] {
  const [old, now] = [new Map(leavesOf(before, '')), new Map(leavesOf(after, ''))]
  const gone = [...old]
    .filter(([path]) => path !== '' && !now.has(path))
    .map(([path, value]) => `  ${path} ${text(value)} -> gone`)
  const changed = [...now].filter(([path, value]) => old.get(path) !== value)
  return [
    ...changed.map(([path, value]) =>
      old.has(path) ? `  ${path} ${text(old.get(path) ?? null)} -> ${text(value)}` : `  ${path} ${text(value)}`,
    ),
    ...gone,
  ]
}

/** Texts of strangers come without what a terminal would obey. */
const text = (value: Json): string =>
  (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(/\p{Cc}/gu, '\u{fffd}')

export function diffText(report: Json): string {
  const differences = objectsOf(member(report, 'differences'))
  const counts = `${text(member(report, 'events'))} events of ${text(member(report, 'streams'))} streams`
  const failing = objectsOf(member(report, 'failing'))
  if (differences.length + failing.length === 0) return `Both versions make the same of ${counts}.`
  const differ = differences.length === 0 ? 'no streams differ' : `${differences.length} streams differ:\n\n${table(differences)}`
  const neither =
    failing.length === 0 ? '' : `\n\nNeither version can fold ${failing.length} streams to their end:\n\n${table(failing)}`
  return `${counts}; ${differ}${neither}`
}

/** What an auditor of an exported order says to be content with. */
export type Content = { readonly unsigned?: boolean; readonly earlier?: boolean }

/** Why log heads do not prove that an exported order is whole and of their market, as a sentence; undefined where they do. */
export function exportFault(report: Json, { unsigned = false, earlier = false }: Content = {}): string | undefined {
  const log = member(report, 'log')
  const unproven = unsigned ? undefined : headsFault(log, 'file')
  if (unproven !== undefined) return unproven
  const later = Number(member(log, 'gone_on'))
  if (later > 0 && !earlier)
    return `By the log heads ${later} of this order's streams have more facts than the file: it is of an earlier time, or they were taken out. Export the order again, or say --earlier.`
  const after = Number(member(log, 'events_after'))
  if (after > 0)
    return `No log head has ${after} of the facts in the streams of this order: they came after the last head, or they are made up. Compare with a later copy of the heads; where that knows of more facts than the file has, export the order again.`
  return undefined
}

const ALONE = 'It agrees with itself. Whether it is of your market, and whole, its log heads tell: --heads.'

export function checkText(report: Json): string {
  const divergences = objectsOf(member(report, 'divergences'))
  const verdict =
    divergences.length === 0 && member(report, 'ledger_balanced') === true
      ? 'The file is whole.'
      : 'The file is not what was exported.'
  const counts = isObject(report)
    ? Object.fromEntries(Object.entries(report).filter(([name]) => !['divergences', 'head', 'log'].includes(name)))
    : {}
  const head = member(report, 'head')
  const log = member(report, 'log')
  return [
    verdict,
    textOf(counts),
    ...(divergences.length > 0 ? [table(divergences)] : []),
    ...(isObject(head) ? [section('Log head at the export', fields(head))] : []),
    isObject(log) ? section('Compared with log heads', fields(log)) : ALONE,
  ].join('\n\n')
}
