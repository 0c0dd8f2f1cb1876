import { vaultContract } from '@penstock/ports/vault.contract.ts'
import { expect, test } from 'vitest'
import { memoryVault } from './vault.ts'

const key = new Uint8Array(32).fill(7)

vaultContract('memory', () => ({ sealer: memoryVault(key), opener: memoryVault(key) }))

test('the same secret of the same record always gives the same text, and another one gives another text', async () => {
  const seal = (recordId: string, secret: string) => memoryVault(key).seal(recordId, 'macaroon', secret)
  expect(await seal('a', 'secret')).toBe(await seal('a', 'secret'))
  expect(new Set([await seal('a', 'secret'), await seal('b', 'secret'), await seal('a', 'other')]).size).toBe(3)
})
