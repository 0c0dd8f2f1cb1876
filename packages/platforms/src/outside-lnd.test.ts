import type { Connection } from '@penstock/adapters/lnd/connection.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import { hostGuardOn } from './outside-lnd.ts'

const away = (): Promise<never> => Promise.reject(new Fault('not asked'))
const connection = { clock: systemClock, ask: away } as unknown as Connection // a node that nobody asks

test.each(['mainnet', 'testnet', 'signet'] as const)('a node on %s connects to public addresses only', async (network) => {
  const guard = hostGuardOn(network, connection)
  for (const host of ['127.0.0.1', '10.1.2.3', '169.254.169.254', '[::1]', '[fd00::1]', 'localhost'])
    expect(await guard?.(host)).toMatchObject({ allowed: false })
  expect(await guard?.('8.8.8.8')).toEqual({ allowed: true, host: '8.8.8.8' })
})

test('on regtest every address is allowed', () => {
  expect(hostGuardOn('regtest', connection)).toBeNull()
})
