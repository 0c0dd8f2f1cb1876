import { expect, test } from 'vitest'
import { drawPlan } from './plan/draw-plan.ts'
import { closeWorld, createSimulatedWorld } from './world/simulated-world.ts'

test('the trace lists a message that the bus parked, also after its replay', async () => {
  const world = createSimulatedWorld({ ...drawPlan(1), faults: {} })
  const { bus, engine, trace } = world
  const parkedKeys = async (): Promise<number> => {
    let keys: number | undefined
    void port.parked().then((keysFound) => void (keys = keysFound.length))
    await engine.schedule.run({ until: () => keys !== undefined })
    return keys ?? NaN
  }
  const port = bus.connect(engine.startProcess('consumer'))
  let isFixed = false
  void port.subscribe({
    group: 'readers',
    topic: 'events.order',
    handle: async () => (isFixed ? 'done' : { park: 'it cannot be read' }),
  })
  void port.publish('events.order', [{ id: '1', key: 'an order', headers: {}, body: '{}' }])
  expect(trace.parkedMessages).toEqual([])
  await engine.schedule.run({ until: () => trace.parkedMessages.length > 0, maxSteps: 1000 })
  expect(trace.parkedMessages).toEqual(['readers has set an order of events.order aside: it cannot be read'])
  expect(await parkedKeys()).toBe(1)

  isFixed = true
  void port.replay({ group: 'readers', topic: 'events.order', key: 'an order' })
  await engine.schedule.run({ until: () => bus.undelivered() === 0, maxSteps: 1000 })
  await engine.schedule.run({ maxSteps: 1000 })
  expect(await parkedKeys()).toBe(0)
  expect(trace.parkedMessages).toHaveLength(1)
  closeWorld(world)
})
