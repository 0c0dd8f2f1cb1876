import type { BusMessage } from '@penstock/ports/bus.ts'
import { expect, test } from 'vitest'
import { deterministicBus } from './bus.ts'
import { deterministicDisk } from './disk.ts'
import { createSimulationEngine } from './simulation-engine.ts'

const keys = Array.from({ length: 40 }, (_, n) => `key-${n}`)
const createMessage = (key: string, name: string): BusMessage => ({
  id: `${key} ${name}`,
  key,
  headers: name.startsWith('low') ? { unpaid: 'yes' } : {},
  body: '{}',
})

test('a message may overtake waiting low-priority messages of its key, and messages of one priority stay in order', async () => {
  const { schedule, startProcess } = createSimulationEngine({ seed: 'overtaking' })
  const bus = deterministicBus(schedule, deterministicDisk(schedule)).connect(startProcess('reader'))
  const handled = new Map<string, string[]>(keys.map((key) => [key, []]))
  void bus
    .subscribe({
      group: 'readers',
      topic: 'orders',
      isLowPriority: ({ headers }) => headers['unpaid'] === 'yes',
      handle: async ({ id, key }) => (handled.get(key)?.push(id.split(' ')[1] ?? ''), 'done'),
    })
    .then(() =>
      bus.publish(
        'orders',
        ['low-1', 'low-2', 'first', 'second'].flatMap((name) => keys.map((key) => createMessage(key, name))),
      ),
    )
  await schedule.run()
  const orders = [...handled.values()].map((names) => [...new Set(names)].join(' '))
  for (const order of orders) {
    expect(order.startsWith('low-1')).toBe(true)
    expect(order.indexOf('first')).toBeLessThan(order.indexOf('second'))
  }
  expect(new Set(orders)).toContain('low-1 low-2 first second')
  expect(new Set(orders)).toContain('low-1 first low-2 second')
})
