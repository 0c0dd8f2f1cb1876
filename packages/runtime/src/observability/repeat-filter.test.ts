import { expect, test } from 'vitest'
import { type Logger, suppressRepeats } from './log.ts'
import { createRepeatFilter } from './repeat-filter.ts'

function createRecordedLog() {
  const lines: object[] = []
  const logOf = (bound: object): Logger => {
    const write = (fields: object, text: string): void => void lines.push({ ...bound, ...fields, text })
    return { debug: write, info: write, warn: write, error: write, child: (fields) => logOf({ ...bound, ...fields }) }
  }
  let ms = 0
  const log = suppressRepeats(
    logOf({}),
    createRepeatFilter(() => ms),
  )
  return { lines, log, pass: (more: number) => (ms += more) }
}

const order = (n: number): string => `0000000${n}-0000-0000-0000-000000000000`
const describeOutage = (n: number): string =>
  `Fault: KurrentDB at 127.0.0.1:2113 did not carry out a read of settlement-${order(n)}: ECONNREFUSED`

test('an outage causes one line of the guard for all orders, tries and heights', () => {
  const { lines, log, pass } = createRecordedLog()
  const guard = log.child({ service: 'settlement' })
  for (let height = 100; height < 130; height++) {
    for (let n = 0; n < 9; n++)
      guard.error({ order: order(n), height, reason: describeOutage(n) }, 'the guard could not finish with a hold')
    pass(5000)
  }
  expect(lines).toEqual([expect.objectContaining({ order: order(0), height: 100, service: 'settlement' })])
})

test('another outage, another cause and another service each cause their own line', () => {
  const { lines, log, pass } = createRecordedLog()
  const fail = (service: string, reason: string): void => log.child({ service }).warn({ reason }, 'an effect failed')
  fail('order', describeOutage(1))
  fail('order', describeOutage(2))
  fail('order', 'Fault: KurrentDB at 127.0.0.1:2113 did not answer a read of order-1 within 5000 ms')
  fail('settlement', describeOutage(1))
  expect(lines).toHaveLength(3)
  pass(61_000)
  fail('order', describeOutage(3))
  expect(lines[3]).toMatchObject({ reason: describeOutage(3), repeats: 1 })
})

test('a bug causes one line per subject, and a failure that does not end is logged every ten minutes', () => {
  const { lines, log, pass } = createRecordedLog()
  for (let seconds = 0; seconds <= 1200; seconds += 30) {
    for (const n of [1, 2]) log.error({ stream: `order-${n}`, tries: seconds, reason: 'Bug: it cannot be' }, 'retrying')
    pass(30_000)
  }
  expect(lines.map((line) => ('repeats' in line ? line.repeats : 0))).toEqual([0, 0, 20, 20, 40, 40])
})

test('lines without a reason, lines of requests, and lines below a warning are all logged', () => {
  const { lines, log } = createRecordedLog()
  for (let n = 0; n < 3; n++) {
    log.warn({ order: 'one' }, 'an order was withdrawn')
    log.error({ reference: `${n}`, reason: describeOutage(n) }, 'a request failed')
    log.info({ reason: describeOutage(n) }, 'by the way')
  }
  expect(lines).toHaveLength(9)
})
