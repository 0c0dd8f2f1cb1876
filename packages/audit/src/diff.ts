import { hash } from 'node:crypto'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import {
  indexAggregates,
  type Divergence,
  type FoldedStream,
  createFoldCache,
  isDivergence,
  aggregateOf,
  foldEvent,
} from './fold.ts'
import { toCanonicalJson } from '@penstock/runtime/commands/canonical-json.ts'
import { hashState } from '@penstock/runtime/commands/event-codec.ts'
import type { Aggregate, Service } from '@penstock/runtime/service.ts'

/** The first line of a version's output, by which another output format is detected. */
export const STATES_FORMAT = 'penstock-states 1'

const PAGE = 500

/**
 * Prints a line for every stored event, with the hashes that this code derives. Tabs separate position, stream, revision, the
 * fact's type and version, the hash of the upcast fact, and the state hash of every known projection. If the fold fails,
 * the rest of the line is `!` and the reason, and the stream is not folded further.
 */
export async function* printStates(
  store: Pick<EventStore, 'readAll' | 'read'>,
  services: readonly Service<never>[],
): AsyncGenerator<string> {
  const aggregates = indexAggregates(services)
  const foldCache = createFoldCache(store)
  const failed = new Map<string, string>()
  yield STATES_FORMAT
  let after: bigint | 'start' = 'start'
  for (;;) {
    const page: readonly StoredEvent[] = await store.readAll(after, PAGE)
    for (const event of page) {
      const place = `${event.position}\t${event.stream}\t${event.revision}\t`
      const line = failed.get(event.stream) ?? (await lineOf(event))
      if (line.startsWith('!')) failed.set(event.stream, line)
      yield place + line
    }
    const last = page.at(-1)
    if (!last) return
    after = last.position
  }

  async function lineOf(event: StoredEvent): Promise<string> {
    const aggregate = aggregateOf(aggregates, event)
    if (isDivergence(aggregate)) return failureLine(aggregate)
    const before = foldCache.kept(aggregate, event) ?? (await foldCache.readBefore(aggregate, event))
    return isDivergence(before) ? failureLine(before) : step(aggregate, before, event)
  }

  function step(aggregate: Aggregate<never>, before: FoldedStream, event: StoredEvent): string {
    try {
      const after = foldEvent(aggregate, before, event)
      foldCache.keep(event.stream, after)
      const { type, v, data } = after.fact
      const states = Object.entries(aggregate.hashed.projections).map(([version, project]) =>
        hashState(Number(version), project(after.state)),
      )
      return [`${type} v${v}`, hash('sha256', toCanonicalJson(data)), ...states].join('\t')
    } catch (error) {
      return failureLine({ what: error instanceof Error ? error.message : String(error) })
    }
  }
}

const failureLine = ({ what }: Pick<Divergence, 'what'>): string => `!\t${what.replaceAll(/\s+/g, ' ')}`

/** The first place where two versions of the code derive different states of a stream. */
export type StateDifference = Divergence & { readonly fact: string }
export type StateDiffReport = {
  readonly events: number
  readonly streams: number
  readonly differences: readonly StateDifference[]
  /** Streams that neither version can fold, with the reason. A stream is not compared from that revision on. */
  readonly failing: readonly Divergence[]
}

/**
 * Compares the outputs of `printStates` by two versions of the code for one store. Events that only one version prints were
 * appended during the comparison, and are ignored.
 * @throws Error if the outputs have different formats or belong to different logs
 */
export async function compareStates(ours: AsyncIterable<string>, theirs: AsyncIterable<string>): Promise<StateDiffReport> {
  const [a, b] = [ours[Symbol.asyncIterator](), theirs[Symbol.asyncIterator]()]
  const differing = new Map<string, StateDifference>()
  const failing = new Map<string, Divergence>()
  let [events, streams] = [-1, 0]
  try {
    for (;;) {
      const [mine, other] = await Promise.all([a.next(), b.next()])
      if (mine.done === true || other.done === true)
        return { events: Math.max(events, 0), streams, differences: [...differing.values()], failing: [...failing.values()] }
      if (++events === 0) assertSameFormat(mine.value, other.value)
      else {
        const line = parseLine(mine.value)
        if (line.revision === 0) streams += 1
        if (differing.has(line.stream) || failing.has(line.stream)) continue
        const theirs = parseLine(other.value)
        const found = mine.value === other.value ? undefined : compareLines(line, theirs)
        if (line.fact === '!' && theirs.fact === '!')
          failing.set(line.stream, { stream: line.stream, revision: line.revision, what: line.rest.join(' ') })
        else if (found) differing.set(line.stream, found)
      }
    }
  } finally {
    await Promise.all([a.return?.(), b.return?.()])
  }
}

function assertSameFormat(mine: string, other: string): void {
  if (mine !== other) throw new Error(`the other version prints "${other.slice(0, 60)}" where "${mine}" is expected`)
}

type StateLine = {
  readonly position: string
  readonly stream: string
  readonly revision: number
  readonly fact: string
  readonly rest: readonly string[]
}

function parseLine(line: string): StateLine {
  const [position = '', stream = '', revision = '', fact = '', ...rest] = line.split('\t')
  return { position, stream, revision: Number(revision), fact, rest }
}

function compareLines(mine: StateLine, other: StateLine): StateDifference | undefined {
  if (mine.position !== other.position || mine.stream !== other.stream || mine.revision !== other.revision)
    throw new Error(
      `the other version reads another log: ${other.stream} ${other.revision} at position ${other.position}, not ${mine.stream} ${mine.revision} at ${mine.position}`,
    )
  const what = describeDifference(mine, other)
  return what === undefined
    ? undefined
    : { stream: mine.stream, revision: mine.revision, fact: mine.fact === '!' ? other.fact : mine.fact, what }
}

function describeDifference(mine: StateLine, other: StateLine): string | undefined {
  if (mine.fact === '!' || other.fact === '!') {
    // Only one version fails here, because the caller handles a failure of both.
    const describe = ({ fact, rest }: StateLine): string => (fact === '!' ? `fails ("${rest.join(' ')}")` : 'folds it')
    return `this version ${describe(mine)}, the other ${describe(other)}`
  }
  const [fact, ...states] = mine.rest
  const [otherFact, ...otherStates] = other.rest
  // A newer version of a fact is not a difference by itself, because the resulting states are compared.
  if (mine.fact === other.fact && fact !== otherFact) return 'the fact is upcast to another shape'
  const versionOf = (state: string): string => state.slice(0, state.indexOf(':'))
  const common = states.filter((state) => otherStates.some((theirs) => versionOf(theirs) === versionOf(state)))
  if (common.length === 0)
    return `no projection of the state is known to both: ${states.map(versionOf).join(', ')} here, ${otherStates.map(versionOf).join(', ')} there`
  const differing = common.find((state) => !otherStates.includes(state))
  return differing === undefined ? undefined : `another state follows, by projection ${versionOf(differing)}`
}
