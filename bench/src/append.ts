import { randomUUID } from 'node:crypto'
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { sqliteEventStore } from '@penstock/adapters/sqlite/event-store.ts'
import { openLog } from '@penstock/adapters/sqlite/log.ts'
import type { EventStore, NewEvent } from '@penstock/ports/event-store.ts'
import { compare, perSecond, type Size, type Subject } from './harness.ts'
import { scratch } from './stores.ts'

const IN_FLIGHT = 256
const SERIAL_APPENDS = 400
const GROUPS = 60
const ROUNDS = 15
/** An order has about so many events. */
const STREAM_LENGTH = 20
/** The file that is written directly; long enough that nothing is rewritten at once. */
const RAW_BYTES = 64 << 20

/** About what a fact of an order is: its data, and hashes, ids, time and trace in its meta. */
const DATA = JSON.stringify({ text: 'x'.repeat(629) })
const META = JSON.stringify({ text: 'y'.repeat(373) })
const TYPE = 'HoldAccepted'
const EVENT_BYTES = 36 + TYPE.length + DATA.length + META.length

/** Made before the measuring, as the bytes of the raw write are; ids are unique within a stream. */
const EVENTS: readonly NewEvent[] = Array.from({ length: 1 << 14 }, () => ({
  id: randomUUID(),
  type: TYPE,
  data: DATA,
  meta: META,
}))
let used = 0
const nextEvent = (): readonly NewEvent[] => {
  const start = used++ % EVENTS.length
  return EVENTS.slice(start, start + 1)
}

/** The event store beside what the same disk does with the same bytes and one flush for each write. */
export const append: Subject = {
  name: 'append',
  async run({ isQuick }: Size) {
    const folder = scratch('append')
    const [rounds, serial, groups] = isQuick ? [1, 4, 1] : [ROUNDS, SERIAL_APPENDS, GROUPS]
    const log = openLog(join(folder, 'market.db'))
    const store = sqliteEventStore(log)
    const raw = rawFile(join(folder, 'raw'))
    const write = writer(store)
    try {
      if (!isQuick) await warmUp(write)
      const rate = (count: number, work: () => Promise<void> | void) => async () => [await perSecond(count, work)]
      return [
        ...(await compare({
          rows: [{ what: 'append, one after the other', unit: 'events/s', target: 0.8 }],
          measure: rate(serial, () => write(1, serial)),
          reference: {
            name: 'raw preallocated write + fdatasync of the same bytes',
            measure: rate(serial, () => raw.write(EVENT_BYTES, serial)),
          },
          rounds,
        })),
        ...(await compare({
          rows: [{ what: `append, ${IN_FLIGHT} in flight`, unit: 'events/s', target: 0.2 }],
          measure: rate(groups * IN_FLIGHT, () => write(IN_FLIGHT, groups * IN_FLIGHT)),
          reference: {
            name: `the same with ${IN_FLIGHT} events to a write`,
            measure: rate(groups * IN_FLIGHT, () => raw.write(EVENT_BYTES * IN_FLIGHT, groups)),
          },
          rounds,
        })),
      ]
    } finally {
      await store.close()
      await log.close()
      raw.close()
    }
  },
}

/** The log file has its size and the code is compiled when the measuring begins. */
async function warmUp(write: ReturnType<typeof writer>): Promise<void> {
  for (let n = 0; n < 4; n++) {
    await write(IN_FLIGHT, GROUPS * IN_FLIGHT)
    await pause(1000)
  }
  await write(1, SERIAL_APPENDS)
}

/** Writers that each append one event after the other, to streams of an order's length. */
function writer(store: EventStore) {
  let streams = 0
  const places = new Map<number, { stream: string; next: number }>()
  return async (writers: number, appends: number): Promise<void> => {
    let left = appends
    const work = async (writerId: number): Promise<void> => {
      while (left-- > 0) {
        let place = places.get(writerId)
        if (!place || place.next === STREAM_LENGTH)
          places.set(writerId, (place = { stream: `order-${String(++streams).padStart(32, '0')}`, next: 0 }))
        const { outcome } = await store.append(place.stream, place.next === 0 ? 'none' : place.next - 1, nextEvent())
        if (outcome !== 'appended') throw new Error('nobody else writes to these streams')
        place.next++
      }
    }
    await Promise.all(Array.from({ length: writers }, (_, writerId) => work(writerId)))
  }
}

/** A preallocated file, written over from its beginning. */
function rawFile(path: string) {
  const file = openSync(path, 'w+')
  const zeros = Buffer.alloc(1 << 20)
  for (let offset = 0; offset < RAW_BYTES; offset += zeros.length) writeSync(file, zeros, 0, zeros.length, offset)
  fdatasyncSync(file)
  let offset = 0
  return {
    write(bytes: number, times: number): void {
      const buffer = Buffer.alloc(bytes, 'x')
      for (let n = 0; n < times; n++) {
        if (offset + bytes > RAW_BYTES) offset = 0
        writeSync(file, buffer, 0, bytes, offset)
        fdatasyncSync(file)
        offset += bytes
      }
    },
    close: () => closeSync(file),
  }
}
