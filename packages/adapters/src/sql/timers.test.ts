import { hasLowPriority, runWithLowPriority } from '@penstock/runtime/commands/low-priority.ts'
import { expect, test } from 'vitest'
import { openViews } from '../sqlite/views.ts'
import { sqlTimers } from './timers.ts'

test('deadlines of paid orders do not yield because they share a batch with deadlines of unpaid orders', async () => {
  const views = openViews(':memory:')
  const priorities: boolean[] = []
  const db = views.db.withPlugin({
    transformQuery({ node }) {
      priorities.push(hasLowPriority())
      return node
    },
    transformResult: ({ result }) => Promise.resolve(result),
  })
  const timers = await sqlTimers({ ...views, db })
  const timer = { step: 'expiry', due: { at: 1 }, command: { type: 'Expire', data: {} } }
  const [unpaid, paid] = [
    runWithLowPriority(() => timers.replace('order', 'order-1', [timer], 0)),
    timers.replace('order', 'order-2', [timer], 0),
  ]
  await Promise.all([unpaid, paid])
  expect(priorities).not.toHaveLength(0)
  expect(priorities).not.toContain(true)
  await views.close()
})
