import { type AppendResult, type CurrentStreamState, NO_STREAM, WrongExpectedVersionError } from '@kurrent/kurrentdb-client'
import { Bug, Fault, must } from '@penstock/kernel/result.ts'
import type { Appended, ExpectedRevision, NewEvent } from '@penstock/ports/event-store.ts'
import { answerMismatch, checkBatch, firstRevision } from '../shared/repeat.ts'
import { slots } from '../shared/slots.ts'
import { systemClock } from '../system/clock.ts'
import type { Connection } from './connection.ts'
import type { EventReader } from './event-reader.ts'
import { isElsewhere } from './faults.ts'
import { toEventData } from './records.ts'

/**
 * Appends share a stream of the client, which holds 16 messages before it queues. What is queued when the stream breaks
 * is rejected with nobody to catch it, and ends the process: so fewer are under way at a time.
 */
const MOST_UNDER_WAY = 12
const LEADER_TRIES = 3
const LEADER_WAIT_MS = 100

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

type Batch = { readonly stream: string; readonly expected: ExpectedRevision; readonly events: readonly NewEvent[] }

/** Sends a batch, and finds out what became of it. */
function carrier({ call }: Connection, reader: EventReader) {
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

  /** Another node may have become the leader; the client goes there after its answer. Once more does no harm. */
  async function sendToLeader(batch: Batch): Promise<AppendResult> {
    for (let tries = 1; ; tries++)
      try {
        return await send(batch)
      } catch (error) {
        if (!isElsewhere(error) || tries === LEADER_TRIES) throw error
        await systemClock.sleep(LEADER_WAIT_MS)
      }
  }

  /** The server tells no position where it has none at hand, and then the stored event does. */
  async function accepted({ stream, expected, events }: Batch, answer: AppendResult): Promise<Appended> {
    const revision = firstRevision(expected) + events.length - 1
    must(
      answer.nextExpectedRevision === BigInt(revision),
      `an append to ${stream} became revision ${answer.nextExpectedRevision}, not ${revision}: was the stream deleted or cut?`,
    )
    const told = answer.position?.commit
    if (told !== undefined && BigInt.asIntN(64, told) >= 0n) return { outcome: 'appended', revision, position: told }
    const [last] = await reader.read(stream, revision, 1)
    must(last && last.id === events.at(-1)?.id, `${stream}@${revision} is not what was appended there`)
    return { outcome: 'appended', revision, position: last.position }
  }

  return async function carryOut(batch: Batch): Promise<Appended> {
    const { stream, expected, events } = batch
    const find = () => reader.find(stream, new Set(events.map(({ id }) => id)))
    try {
      return await accepted(batch, await sendToLeader(batch))
    } catch (error) {
      if (error instanceof WrongExpectedVersionError)
        return answerMismatch(expected, revisionOf(stream, error.actualState), events, await find())
      if (!(error instanceof Fault)) throw error
      // Nobody knows what became of it. What is there now was stored; what is not may still come.
      const found = await find().catch((): [] => [])
      if (found.length === 0) throw error
      return answerMismatch(expected, 'none', events, found)
    }
  }
}

/** Appends of one stream are carried out as they came, one after the other; those of others beside them. */
export function eventAppender(connection: Connection, reader: EventReader) {
  const underWay = slots(MOST_UNDER_WAY)
  const lanes = new Map<string, Promise<unknown>>()
  const carryOut = carrier(connection, reader)

  async function next(batch: Batch, before: Promise<unknown> | undefined): Promise<Appended> {
    await before?.catch(() => undefined)
    await underWay.take()
    try {
      return await carryOut(batch)
    } finally {
      underWay.giveBack()
    }
  }

  return {
    append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended> {
      checkBatch(stream, events)
      for (const { id, type } of events) {
        must(UUID.test(id), `an event id is a UUID in lower case, not "${id}"`)
        must(!type.startsWith('$'), `"${type}" is a type of the server's own`)
      }
      const mine = next({ stream, expected, events }, lanes.get(stream)).finally(() => {
        if (lanes.get(stream) === mine) lanes.delete(stream)
      })
      lanes.set(stream, mine)
      return mine
    },
    /** After what is under way has its answer. */
    idle: async (): Promise<void> => void (await Promise.allSettled(lanes.values())),
  }
}

/** In bulk answers a missing stream is a word, in single ones it may be a number below zero. */
function revisionOf(stream: string, actual: CurrentStreamState): ExpectedRevision {
  if (actual === NO_STREAM || actual < 0n) return 'none'
  if (actual > Number.MAX_SAFE_INTEGER) throw new Bug(`the stream ${stream} was deleted`)
  return Number(actual)
}
