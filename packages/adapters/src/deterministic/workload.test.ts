import type { BusMessage } from '@penstock/ports/bus.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type WorkloadRun, runFaultyWorkload } from './workload.ts'
import { FAULT_KINDS, type FaultKind, type FaultPlan } from './faults/fault-injector.ts'
import { forbidNondeterminism } from './isolation/forbid-nondeterminism.ts'

/** Crashes are rare, since each stops a process for a while. Orphans are frequent, since few crashes meet a call in transit. */
const rateOf = (kind: FaultKind): number => {
  if (kind.endsWith('Orphan')) return 0.8
  if (kind.startsWith('kill')) return 0.004
  return kind === 'diskFull' || kind === 'frozen' ? 0.01 : 0.05
}
const RATES: FaultPlan = Object.fromEntries(FAULT_KINDS.map((kind): [FaultKind, number] => [kind, rateOf(kind)]))

/** Runs a workload without access to the real clock. */
async function runDeterministically(seed: string, plan: FaultPlan = RATES): Promise<WorkloadRun> {
  const violations: Error[] = []
  const restore = forbidNondeterminism((error) => violations.push(error))
  try {
    const run = await runFaultyWorkload(seed, plan)
    if (violations[0]) throw violations[0]
    return run
  } finally {
    restore()
  }
}

/** The ids without repetitions, in the order of their first occurrence. */
const firstOccurrences = (ids: readonly string[]): readonly string[] => [...new Set(ids)]

async function expectNothingLost({ store, acknowledged, followed }: WorkloadRun): Promise<void> {
  const log = await store.direct.readAll('start', 10_000)
  const storedById = new Map(log.map((event) => [event.id, event]))
  expect(storedById.size).toBe(log.length)
  for (const { stream, id, revision } of acknowledged.events) expect(storedById.get(id)).toMatchObject({ stream, revision })
  expect(followed).toEqual(log.map(({ position }) => position))
}

/** Expects that no process waits for ever for a resource that a crashed process held. */
const expectAllFinished = ({ finished }: WorkloadRun): void => expect([...finished].sort()).toEqual(['one', 'three', 'two'])

function expectAllDelivered({ bus, acknowledged, handled, overlaps }: WorkloadRun): void {
  const stored = bus.topic('orders')
  const ids = new Set(stored.map(({ id }) => id))
  expect(acknowledged.messages.filter(({ id }) => !ids.has(id))).toEqual([])
  for (const key of new Set(stored.map((message) => message.key))) {
    const idsOfKey = (list: readonly BusMessage[]) =>
      firstOccurrences(list.filter((message) => message.key === key).map(({ id }) => id))
    expect(idsOfKey(handled)).toEqual(idsOfKey(stored))
  }
  expect(overlaps).toEqual([])
  expect(bus.undelivered()).toBe(0)
}

function expectRowsPaired({ database, acknowledged }: WorkloadRun): void {
  const rows = database.rows<{ id: string }>('select id from rows').map(({ id }) => id)
  const [first, second] = ['first', 'second'].map((half) =>
    rows.filter((row) => row.endsWith(half)).map((row) => row.slice(0, row.indexOf(' '))),
  )
  expect(second).toEqual(first)
  expect(acknowledged.rows.filter((id) => !first?.includes(id))).toEqual([])
}

describe('a workload with every fault', () => {
  it('runs the same way for one seed and differently for another', async () => {
    const [one, repeated, other] = [
      await runDeterministically('1'),
      await runDeterministically('1'),
      await runDeterministically('2'),
    ]
    const summary = ({ schedule, faults, acknowledged, handled }: WorkloadRun) => ({
      trace: schedule.traceHash(),
      steps: schedule.steps(),
      faults: faults.counts(),
      acknowledged,
      handled,
    })
    expect(summary(repeated)).toEqual(summary(one))
    expect(other.schedule.traceHash()).not.toBe(one.schedule.traceHash())
  })
  it('loses no acknowledged write and keeps the order of each key', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.subarray([...FAULT_KINDS]), async (seed, kinds) => {
        const run = await runDeterministically(
          `property ${seed}`,
          Object.fromEntries(kinds.map((kind) => [kind, RATES[kind] ?? 0])),
        )
        expectAllFinished(run)
        await expectNothingLost(run)
        expectAllDelivered(run)
        expectRowsPaired(run)
        run.database.close()
      }),
      { numRuns: 40 },
    )
  })
  it('injects every fault of the servers within sixty seeds, and no fault without a plan', async () => {
    const met = new Map<string, number>()
    for (let seed = 0; seed < 60; seed++) {
      const { faults, database } = await runDeterministically(`met ${seed}`)
      for (const [name, count] of Object.entries(faults.counts())) met.set(name, (met.get(name) ?? 0) + count)
      database.close()
    }
    const otherFaults = /^(lease|lightning|payment|peer|chain|outside|watch)/ // this workload makes no such calls
    expect(FAULT_KINDS.filter((kind) => !otherFaults.test(kind) && !met.has(kind))).toEqual([])
    const faultless = await runDeterministically('calm', {})
    expect(faultless.faults.counts()).toEqual({})
  })
})
