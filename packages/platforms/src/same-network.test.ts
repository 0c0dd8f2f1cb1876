import { Fault } from '@penstock/kernel/result.ts'
import { ConfigError } from '@penstock/runtime/config.ts'
import { expect, test } from 'vitest'
import { onNetwork } from './same-network.ts'

const clock = { sleep: () => Promise.resolve() }
const on = (name: string, network: 'mainnet' | 'testnet') => async () => ({ name, network })
const nobody = (): void => undefined

test('all are on the network that the configuration says', async () => {
  await onNetwork('mainnet', [on('lnd', 'mainnet'), on('the bitcoin node', 'mainnet')], clock, nobody)
})

test('a bitcoin node of another network is refused, whatever lnd says', async () => {
  const started = onNetwork('mainnet', [on('lnd', 'mainnet'), on('the bitcoin node', 'testnet')], clock, nobody)
  await expect(started).rejects.toThrow(ConfigError)
  await expect(started).rejects.toThrow('the bitcoin node is on testnet, and PENSTOCK_NETWORK is mainnet.')
})

test('who does not answer is waited for', async () => {
  const told: string[] = []
  let calls = 0
  const late = async () => {
    if (calls++ < 2) throw new Fault('no answer')
    return { name: 'the bitcoin node', network: 'mainnet' as const }
  }
  await onNetwork('mainnet', [late], clock, (reason) => told.push(reason))
  expect([calls, told]).toEqual([3, ['no answer', 'no answer']])
})
