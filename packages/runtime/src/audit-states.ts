import { hash } from 'node:crypto'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { aggregatesOf, type Divergence, type Folded, folds, isDivergence, ownerOf, stepOf } from './audit-fold.ts'
import { canonical } from './canonical.ts'
import { stateHash } from './event-codec.ts'
import type { Aggregate, Service } from './service.ts'

/** The first line that a child prints, so that a version which speaks otherwise is noticed. */
export const STATES_FORMAT = 'penstock-states 1'

const PAGE = 500

/**
 * What this code makes of every stored event: a line each, with tabs between position, stream, revision, the fact's type
 * and version, the hash of the fact as it is after upcasting, and the state's hash by every projection that is known.
 * Where the fold fails, the rest of the line is `!` and the reason; a stream is not folded beyond that.
 */
export async function* stateLines(
  store: Pick<EventStore, 'readAll' | 'read'>,
  services: readonly Service<never>[],
): AsyncGenerator<string> {
  const aggregates = aggregatesOf(services)
  const known = folds(store)
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
    const aggregate = ownerOf(aggregates, event)
    if (isDivergence(aggregate)) return failure(aggregate)
    const before = known.kept(aggregate, event) ?? (await known.before(aggregate, event))
    return isDivergence(before) ? failure(before) : step(aggregate, before, event)
  }

  function step(aggregate: Aggregate<never>, before: Folded, event: StoredEvent): string {
    try {
      const after = stepOf(aggregate, before, event)
      known.keep(event.stream, after)
      const { type, v, data } = after.fact
      const states = Object.entries(aggregate.hashed.of).map(([version, project]) =>
        stateHash(Number(version), project(after.state)),
      )
      return [`${type} v${v}`, hash('sha256', canonical(data)), ...states].join('\t')
    } catch (error) {
      return failure({ what: error instanceof Error ? error.message : String(error) })
    }
  }
}

const failure = ({ what }: Pick<Divergence, 'what'>): string => `!\t${what.replaceAll(/\s+/g, ' ')}`

/** The first place where two versions of the code make something else of a stream. */
export type Difference = Divergence & { readonly fact: string }
export type DifferenceReport = {
  readonly events: number
  readonly streams: number
  readonly differences: readonly Difference[]
  /** Streams that neither version can fold, and why: of these nothing was compared from there on. */
  readonly failing: readonly Divergence[]
}

/**
 * Compares what two versions of the code print of one store. What only one of them has read was appended meanwhile.
 * @throws Error where one of them speaks another format, or reads another log
 */
export async function compareStates(ours: AsyncIterable<string>, theirs: AsyncIterable<string>): Promise<DifferenceReport> {
  const [a, b] = [ours[Symbol.asyncIterator](), theirs[Symbol.asyncIterator]()]
  const differing = new Map<string, Difference>()
  const failing = new Map<string, Divergence>()
  let [events, streams] = [-1, 0]
  try {
    for (;;) {
      const [mine, other] = await Promise.all([a.next(), b.next()])
      if (mine.done === true || other.done === true)
        return { events: Math.max(events, 0), streams, differences: [...differing.values()], failing: [...failing.values()] }
      if (++events === 0) sameFormat(mine.value, other.value)
      else {
        const line = parsed(mine.value)
        if (line.revision === 0) streams += 1
        if (differing.has(line.stream) || failing.has(line.stream)) continue
        const theirs = parsed(other.value)
        const found = mine.value === other.value ? undefined : difference(line, theirs)
        if (line.fact === '!' && theirs.fact === '!')
          failing.set(line.stream, { stream: line.stream, revision: line.revision, what: line.rest.join(' ') })
        else if (found) differing.set(line.stream, found)
      }
    }
  } finally {
    await Promise.all([a.return?.(), b.return?.()])
  }
}

function sameFormat(mine: string, other: string): void {
  if (mine !== other) throw new Error(`the other version prints "${other.slice(0, 60)}" where "${mine}" is expected`)
}

type Line = {
  readonly position: string
  readonly stream: string
  readonly revision: number
  readonly fact: string
  readonly rest: readonly string[]
}

function parsed(line: string): Line {
  const [position = '', stream = '', revision = '', fact = '', ...rest] = line.split('\t')
  return { position, stream, revision: Number(revision), fact, rest }
}

function difference(mine: Line, other: Line): Difference | undefined {
  if (mine.position !== other.position || mine.stream !== other.stream || mine.revision !== other.revision)
    throw new Error(
      `the other version reads another log: ${other.stream} ${other.revision} at position ${other.position}, not ${mine.stream} ${mine.revision} at ${mine.position}`,
    )
  const what = whatDiffers(mine, other)
  return what === undefined
    ? undefined
    : { stream: mine.stream, revision: mine.revision, fact: mine.fact === '!' ? other.fact : mine.fact, what }
}

function whatDiffers(mine: Line, other: Line): string | undefined {
  if (mine.fact === '!' || other.fact === '!') {
    // Only one of them: what both fail at was told before.
    const told = ({ fact, rest }: Line): string => (fact === '!' ? `fails ("${rest.join(' ')}")` : 'folds it')
    return `this version ${told(mine)}, the other ${told(other)}`
  }
  const [fact, ...states] = mine.rest
  const [otherFact, ...otherStates] = other.rest
  // A newer shape of a fact is no difference by itself: what counts is the state that it leads to.
  if (mine.fact === other.fact && fact !== otherFact) return 'the fact is upcast to another shape'
  const versionOf = (state: string): string => state.slice(0, state.indexOf(':'))
  const common = states.filter((state) => otherStates.some((theirs) => versionOf(theirs) === versionOf(state)))
  if (common.length === 0)
    return `no projection of the state is known to both: ${states.map(versionOf).join(', ')} here, ${otherStates.map(versionOf).join(', ')} there`
  const differing = common.find((state) => !otherStates.includes(state))
  return differing === undefined ? undefined : `another state follows, by projection ${versionOf(differing)}`
}
