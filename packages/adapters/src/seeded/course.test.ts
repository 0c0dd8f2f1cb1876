import type { BusMessage } from '@penstock/ports/bus.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Course, runCourse } from './course.ts'
import { FAULT_KINDS, type FaultKind, type FaultPlan } from './faults.ts'
import { poisonGlobals } from './poison.ts'

/** Deaths stop everything for a while, and few of them have a call on its way. */
const rateOf = (kind: FaultKind): number => {
  if (kind.endsWith('Orphan')) return 0.8
  if (kind.startsWith('kill')) return 0.004
  return kind === 'diskFull' || kind === 'frozen' ? 0.01 : 0.05
}
const RATES: FaultPlan = Object.fromEntries(FAULT_KINDS.map((kind): [FaultKind, number] => [kind, rateOf(kind)]))

/** A course in a world in which nobody can look at the real clock. */
async function poisoned(seed: string, plan: FaultPlan = RATES): Promise<Course> {
  const touched: Error[] = []
  const restore = poisonGlobals((error) => touched.push(error))
  try {
    const course = await runCourse(seed, plan)
    if (touched[0]) throw touched[0]
    return course
  } finally {
    restore()
  }
}

/** The first time of each, in order. */
const firsts = (ids: readonly string[]): readonly string[] => [...new Set(ids)]

async function nothingIsLost({ store, acknowledged, followed }: Course): Promise<void> {
  const log = await store.direct.readAll('start', 10_000)
  const placed = new Map(log.map((event) => [event.id, event]))
  expect(placed.size).toBe(log.length)
  for (const { stream, id, revision } of acknowledged.events) expect(placed.get(id)).toMatchObject({ stream, revision })
  expect(followed).toEqual(log.map(({ position }) => position))
}

/** Nobody waits for ever for what a dead process had. */
const everybodyFinishes = ({ finished }: Course): void => expect([...finished].sort()).toEqual(['one', 'three', 'two'])

function everythingIsDelivered({ bus, acknowledged, handled, overlaps }: Course): void {
  const stored = bus.topic('orders')
  const ids = new Set(stored.map(({ id }) => id))
  expect(acknowledged.messages.filter(({ id }) => !ids.has(id))).toEqual([])
  for (const key of new Set(stored.map((message) => message.key))) {
    const of = (list: readonly BusMessage[]) => firsts(list.filter((message) => message.key === key).map(({ id }) => id))
    expect(of(handled)).toEqual(of(stored))
  }
  expect(overlaps).toEqual([])
  expect(bus.undelivered()).toBe(0)
}

function rowsArePaired({ database, acknowledged }: Course): void {
  const rows = database.rows<{ id: string }>('select id from rows').map(({ id }) => id)
  const [first, second] = ['first', 'second'].map((half) =>
    rows.filter((row) => row.endsWith(half)).map((row) => row.slice(0, row.indexOf(' '))),
  )
  expect(second).toEqual(first)
  expect(acknowledged.rows.filter((id) => !first?.includes(id))).toEqual([])
}

describe('a course with every fault', () => {
  it('is the same for a seed and another for another', async () => {
    const [one, again, other] = [await poisoned('1'), await poisoned('1'), await poisoned('2')]
    const summary = ({ schedule, faults, acknowledged, handled }: Course) => ({
      trace: schedule.trace(),
      steps: schedule.steps(),
      faults: faults.counts(),
      acknowledged,
      handled,
    })
    expect(summary(again)).toEqual(summary(one))
    expect(other.schedule.trace()).not.toBe(one.schedule.trace())
  })
  it('loses nothing that was acknowledged and keeps the order of each key', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.subarray([...FAULT_KINDS]), async (seed, kinds) => {
        const course = await poisoned(`property ${seed}`, Object.fromEntries(kinds.map((kind) => [kind, RATES[kind] ?? 0])))
        everybodyFinishes(course)
        await nothingIsLost(course)
        everythingIsDelivered(course)
        rowsArePaired(course)
        course.database.close()
      }),
      { numRuns: 40 },
    )
  })
  it('meets every fault of the servers sooner or later, and none once they are off', async () => {
    const met = new Map<string, number>()
    for (let seed = 0; seed < 60; seed++) {
      const { faults, database } = await poisoned(`met ${seed}`)
      for (const [name, count] of Object.entries(faults.counts())) met.set(name, (met.get(name) ?? 0) + count)
      database.close()
    }
    const elsewhere = /^(lease|lightning|chain|outside|watch)/ // what this course does not call
    expect(FAULT_KINDS.filter((kind) => !elsewhere.test(kind) && !met.has(kind))).toEqual([])
    const calm = await poisoned('calm', {})
    expect(calm.faults.counts()).toEqual({})
  })
})
