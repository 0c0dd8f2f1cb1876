import { expect, test } from 'vitest'
import { planOf } from './draw-plan.ts'
import { closeWorld, openWorld } from './world.ts'

test('what the bus sets aside is known in the world, whatever anybody says about it, and also once it is put back', async () => {
  const world = openWorld({ ...planOf(1), faults: {} })
  const { bus, engine, diary } = world
  const parkedKeys = async (): Promise<number> => {
    let keys: number | undefined
    void port.parked().then((found) => void (keys = found.length))
    await engine.schedule.run({ until: () => keys !== undefined })
    return keys ?? NaN
  }
  const port = bus.of(engine.born('consumer'))
  let isMended = false
  void port.subscribe({
    group: 'readers',
    topic: 'events.order',
    handle: async () => (isMended ? 'done' : { park: 'it cannot be read' }),
  })
  void port.publish('events.order', [{ id: '1', key: 'an order', headers: {}, body: '{}' }])
  expect(diary.parked).toEqual([])
  await engine.schedule.run({ until: () => diary.parked.length > 0, maxSteps: 1000 })
  expect(diary.parked).toEqual(['readers has set an order of events.order aside: it cannot be read'])
  expect(await parkedKeys()).toBe(1)

  isMended = true
  void port.replay({ group: 'readers', topic: 'events.order', key: 'an order' })
  await engine.schedule.run({ until: () => bus.undelivered() === 0, maxSteps: 1000 })
  await engine.schedule.run({ maxSteps: 1000 })
  expect(await parkedKeys()).toBe(0)
  expect(diary.parked).toHaveLength(1)
  closeWorld(world)
})
