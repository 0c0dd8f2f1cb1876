import { systemClock } from '@penstock/adapters/system/clock.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { ConfigError } from '@penstock/runtime/config.ts'
import { expect, test } from 'vitest'
import { notOnAnother, onNetwork } from './same-network.ts'

const clock = { sleep: () => Promise.resolve() }
const on = (name: string, network: 'mainnet' | 'testnet') => async () => ({ name, network })
const nobody = (): void => undefined

test('a node is on the network that the configuration says, or is refused', async () => {
  await onNetwork('mainnet', on('lnd', 'mainnet'), clock, nobody)
  await expect(onNetwork('mainnet', on('lnd', 'testnet'), clock, nobody)).rejects.toThrow(ConfigError)
})

test('a bitcoin node of another network is refused, whatever lnd says', async () => {
  await notOnAnother('mainnet', on('the bitcoin node', 'mainnet'), systemClock, nobody)
  const started = notOnAnother('mainnet', on('the bitcoin node', 'testnet'), systemClock, nobody)
  await expect(started).rejects.toThrow(ConfigError)
  await expect(started).rejects.toThrow('the bitcoin node is on testnet, and PENSTOCK_NETWORK is mainnet.')
})

test('lnd is waited for where it does not answer, a bitcoin node is not', async () => {
  const told: string[] = []
  let calls = 0
  const late = async () => {
    if (calls++ < 2) throw new Fault('no answer')
    return { name: 'lnd', network: 'mainnet' as const }
  }
  await onNetwork('mainnet', late, clock, (reason) => told.push(reason))
  expect([calls, told]).toEqual([3, ['no answer', 'no answer']])
  calls = 0
  await notOnAnother('mainnet', late, systemClock, (reason) => told.push(reason))
  expect([calls, told.length]).toEqual([1, 3])
})
