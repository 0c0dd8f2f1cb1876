import type { LndConnection } from '@penstock/adapters/lnd/connection.ts'
import { stillClock } from '@penstock/ports/still-clock.fixture.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import { createHostGuard } from './external-world-lnd.ts'

const failingCall = (): Promise<never> => Promise.reject(new Fault('not called'))
const connection = { clock: stillClock, ask: failingCall } as unknown as LndConnection // This node is never called.

test.each(['mainnet', 'testnet', 'signet'] as const)('a node on %s connects to public addresses only', async (network) => {
  const guard = createHostGuard(network, connection)
  for (const host of ['127.0.0.1', '10.1.2.3', '169.254.169.254', '[::1]', '[fd00::1]', 'localhost'])
    expect(await guard?.(host)).toMatchObject({ allowed: false })
  expect(await guard?.('8.8.8.8')).toEqual({ allowed: true, host: '8.8.8.8' })
})

test('on regtest every address is allowed', () => {
  expect(createHostGuard('regtest', connection)).toBeNull()
})
