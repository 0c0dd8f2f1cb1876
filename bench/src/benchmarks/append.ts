import { randomUUID } from 'node:crypto'
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { sqliteEventStore } from '@penstock/adapters/sqlite/event-store.ts'
import { openMarketLog } from '@penstock/adapters/sqlite/market-log.ts'
import type { EventStore, NewEvent } from '@penstock/ports/event-store.ts'
import { compareToReference, measureRate, type BenchmarkSize, type Benchmark } from '../harness.ts'
import { createTempFolder } from '../sample-stores.ts'

const IN_FLIGHT = 256
const SERIAL_APPENDS = 400
const GROUPS = 60
const ROUNDS = 15
/** About the number of events of an order. */
const STREAM_LENGTH = 20
/** Size of the raw file, so large that no block is rewritten soon after its write. */
const RAW_BYTES = 64 << 20

/** Data and metadata of the size of an order's fact. The metadata of a fact has hashes, ids, a timestamp and a trace. */
const DATA = JSON.stringify({ text: 'x'.repeat(629) })
const META = JSON.stringify({ text: 'y'.repeat(373) })
const TYPE = 'HoldAccepted'
const EVENT_BYTES = 36 + TYPE.length + DATA.length + META.length

/** Created before the measurement, so that its time excludes their creation. Ids are unique only within a stream. */
const EVENTS: readonly NewEvent[] = Array.from({ length: 1 << 14 }, () => ({
  id: randomUUID(),
  type: TYPE,
  data: DATA,
  meta: META,
}))
let usedEvents = 0
const takeNextEvent = (): readonly NewEvent[] => {
  const start = usedEvents++ % EVENTS.length
  return EVENTS.slice(start, start + 1)
}

/** Compares the event store with raw writes of the same bytes to the same disk, with one flush per write. */
export const appendBenchmark: Benchmark = {
  name: 'append',
  async run({ isQuick }: BenchmarkSize) {
    const folder = createTempFolder('append')
    const [rounds, serial, groups] = isQuick ? [1, 4, 1] : [ROUNDS, SERIAL_APPENDS, GROUPS]
    const log = openMarketLog(join(folder, 'market.db'))
    const store = sqliteEventStore(log)
    const raw = openRawFile(join(folder, 'raw'))
    const write = createWriter(store)
    try {
      if (!isQuick) await warmUp(write)
      const rate = (count: number, run: () => Promise<void> | void) => async () => [await measureRate(count, run)]
      return [
        ...(await compareToReference({
          rows: [{ description: 'append, one after the other', unit: 'events/s', target: 0.8 }],
          measure: rate(serial, () => write(1, serial)),
          reference: {
            name: 'raw preallocated write + fdatasync of the same bytes',
            measure: rate(serial, () => raw.write(EVENT_BYTES, serial)),
          },
          rounds,
        })),
        ...(await compareToReference({
          rows: [{ description: `append, ${IN_FLIGHT} in flight`, unit: 'events/s', target: 0.2 }],
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

/** Grows the log file to its final size, and lets V8 compile the code, before the measurement. */
async function warmUp(write: ReturnType<typeof createWriter>): Promise<void> {
  for (let n = 0; n < 4; n++) {
    await write(IN_FLIGHT, GROUPS * IN_FLIGHT)
    await pause(1000)
  }
  await write(1, SERIAL_APPENDS)
}

/** Creates a function that runs concurrent writers. Each one appends one event at a time, to streams of an order's length. */
function createWriter(store: EventStore) {
  let streams = 0
  const cursors = new Map<number, { stream: string; next: number }>()
  return async (writers: number, appends: number): Promise<void> => {
    let remaining = appends
    const run = async (writerId: number): Promise<void> => {
      while (remaining-- > 0) {
        let cursor = cursors.get(writerId)
        if (!cursor || cursor.next === STREAM_LENGTH)
          cursors.set(writerId, (cursor = { stream: `order-${String(++streams).padStart(32, '0')}`, next: 0 }))
        const { outcome } = await store.append(cursor.stream, cursor.next === 0 ? 'none' : cursor.next - 1, takeNextEvent())
        if (outcome !== 'appended') throw new Error('append conflict in a stream that only this benchmark writes')
        cursor.next++
      }
    }
    await Promise.all(Array.from({ length: writers }, (_, writerId) => run(writerId)))
  }
}

/** Opens a preallocated file. The writes overwrite it, and return to its beginning when they reach its end. */
function openRawFile(path: string) {
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
