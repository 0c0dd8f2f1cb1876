import { expect, test } from 'vitest'
import { createVirtualSchedule } from '../deterministic/virtual-schedule.ts'
import { openTemporaryNetwork } from './temporary-network.ts'

test('the network mines blocks while it is open, and none while it is closed', async () => {
  const schedule = createVirtualSchedule('mining')
  const network = openTemporaryNetwork({ blockSeconds: 10, clock: schedule.clock })
  try {
    const pass = (seconds: number) => schedule.run({ untilMs: schedule.now() + seconds * 1000 })
    const readHeight = async () => (await network.simnet().chain().tip()).height
    const height = await readHeight()
    await pass(30)
    expect(await readHeight()).toBe(height + 3)
    const market = network.simnet().lightning('market')
    await network.simnet().close()
    await expect(market.info()).rejects.toThrow('closed')
    await pass(30)
    await network.reopen()
    expect(await readHeight()).toBe(height + 3)
    await pass(20)
    expect(await readHeight()).toBe(height + 5)
  } finally {
    await network.drop()
  }
})
