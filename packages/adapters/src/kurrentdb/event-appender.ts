import { withJitter } from '@penstock/kernel/backoff.ts'
import { systemChance } from '../system/chance.ts'
import { type AppendResult, type CurrentStreamState, NO_STREAM, WrongExpectedVersionError } from '@kurrent/kurrentdb-client'
import { Bug, Fault, assert } from '@penstock/kernel/result.ts'
import type { AppendOutcome, ExpectedRevision, NewEvent } from '@penstock/ports/event-store.ts'
import { answerMismatch, checkBatch, firstRevision } from '../shared/idempotent-append.ts'
import { createSemaphore } from '@penstock/kernel/semaphore.ts'
import { systemClock } from '../system/clock.ts'
import type { KurrentConnection } from './connection.ts'
import type { KurrentReader } from './event-reader.ts'
import { isNotLeader } from './faults.ts'
import { toEventData } from './records.ts'

/**
 * Maximum number of concurrent appends. Appends share a gRPC stream of the client, which queues messages beyond 16. If the stream
 * breaks, queued messages reject without a handler and end the process.
 */
const MAX_IN_FLIGHT = 12
const LEADER_TRIES = 3
const LEADER_WAIT_MS = 100

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

type Batch = { readonly stream: string; readonly expected: ExpectedRevision; readonly events: readonly NewEvent[] }

/** Sends a batch, and determines its outcome. */
function createBatchAppender({ call }: KurrentConnection, reader: KurrentReader) {
  const send = ({ stream, expected, events }: Batch): Promise<AppendResult> =>
    call(
      `an append to ${stream}`,
      ({ client }) =>
        client.appendToStream(stream, events.map(toEventData), {
          streamState: expected === 'none' ? NO_STREAM : BigInt(expected),
          requiresLeader: true,
        }),
      (error) => error instanceof WrongExpectedVersionError,
    )

  /** Retries if another node has become the leader. The client then connects to that node. A repeated append is harmless. */
  async function sendToLeader(batch: Batch): Promise<AppendResult> {
    for (let tries = 1; ; tries++)
      try {
        return await send(batch)
      } catch (error) {
        if (!isNotLeader(error) || tries === LEADER_TRIES) throw error
        await systemClock.sleep(withJitter(LEADER_WAIT_MS, systemChance))
      }
  }

  /** The answer may lack a position. The position is then read from the stored event. */
  async function toAppended({ stream, expected, events }: Batch, answer: AppendResult): Promise<AppendOutcome> {
    const revision = firstRevision(expected) + events.length - 1
    assert(
      answer.nextExpectedRevision === BigInt(revision),
      `an append to ${stream} became revision ${answer.nextExpectedRevision}, not ${revision}: was the stream deleted or cut?`,
    )
    const position = answer.position?.commit
    if (position !== undefined && BigInt.asIntN(64, position) >= 0n) return { outcome: 'appended', revision, position }
    const [last] = await reader.read(stream, revision, 1)
    assert(last && last.id === events.at(-1)?.id, `${stream}@${revision} is another event than the appended one`)
    return { outcome: 'appended', revision, position: last.position }
  }

  return async function appendBatch(batch: Batch): Promise<AppendOutcome> {
    const { stream, expected, events } = batch
    const find = () => reader.find(stream, new Set(events.map(({ id }) => id)))
    try {
      return await toAppended(batch, await sendToLeader(batch))
    } catch (error) {
      if (error instanceof WrongExpectedVersionError)
        return answerMismatch(expected, revisionOf(stream, error.actualState), events, await find())
      if (!(error instanceof Fault)) throw error
      // The outcome is unknown. Found events are stored; missing events may still be stored later.
      const found = await find().catch((): [] => [])
      if (found.length === 0) throw error
      return answerMismatch(expected, 'none', events, found)
    }
  }
}

/** Runs the appends of one stream one after the other, and appends of different streams in parallel. */
export function createKurrentAppender(connection: KurrentConnection, reader: KurrentReader) {
  const semaphore = createSemaphore(MAX_IN_FLIGHT)
  const queues = new Map<string, Promise<unknown>>()
  const appendBatch = createBatchAppender(connection, reader)

  async function appendAfter(batch: Batch, previous: Promise<unknown> | undefined): Promise<AppendOutcome> {
    await previous?.catch(() => undefined)
    await semaphore.acquire()
    try {
      return await appendBatch(batch)
    } finally {
      semaphore.release()
    }
  }

  return {
    append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<AppendOutcome> {
      checkBatch(stream, events)
      for (const { id, type } of events) {
        assert(UUID.test(id), `an event id is a UUID in lower case, not "${id}"`)
        assert(!type.startsWith('$'), `the event type "${type}" is reserved for the server`)
      }
      const pending = appendAfter({ stream, expected, events }, queues.get(stream)).finally(() => {
        if (queues.get(stream) === pending) queues.delete(stream)
      })
      queues.set(stream, pending)
      return pending
    },
    /** Resolves when all appends under way have an answer. */
    idle: async (): Promise<void> => void (await Promise.allSettled(queues.values())),
  }
}

/**
 * The server reports a missing stream as NO_STREAM after a batch append, and possibly as a negative number after a single append.
 */
function revisionOf(stream: string, actual: CurrentStreamState): ExpectedRevision {
  if (actual === NO_STREAM || actual < 0n) return 'none'
  if (actual > Number.MAX_SAFE_INTEGER) throw new Bug(`the stream ${stream} was deleted`)
  return Number(actual)
}
