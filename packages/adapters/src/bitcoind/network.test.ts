import { expect, test } from 'vitest'
import { readRpcNetwork } from './chain.ts'
import type { Rpc } from './rpc.ts'

/** A node whose chain begins with the given block. */
const beginsWith =
  (hash: string): Rpc =>
  async (method, ...params) => {
    expect([method, ...params]).toEqual(['getblockhash', 0])
    return hash as never // the answer of the method
  }

test('the hash of the first block identifies the network', async () => {
  expect(await readRpcNetwork(beginsWith('000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f'))).toBe('mainnet')
  expect(await readRpcNetwork(beginsWith('000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943'))).toBe('testnet')
  await expect(readRpcNetwork(beginsWith('ab'.repeat(32)))).rejects.toThrow('a chain that Penstock does not know')
})
