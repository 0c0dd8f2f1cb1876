import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import { stillClock } from '@penstock/ports/still-clock.fixture.ts'
import { rpcChain } from './chain.ts'
import { type Rpc, RpcError } from './rpc.ts'

const MAINNET = '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f'
const REGTEST = '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206'

/** Reads the fee rate from a node that implements only the given calls. */
const feeRate = (answers: Readonly<Record<string, unknown>>): Promise<number> => {
  const rpc: Rpc = <T>(method: string) =>
    method in answers
      ? Promise.resolve(answers[method] as T) // the test gives the right type
      : Promise.reject(new RpcError(method, -32601, 'Method not found'))
  return rpcChain(rpc, stillClock).feeRate(6)
}

test('the fee rate comes from estimatesmartfee, or from estimatefee if the node lacks estimatesmartfee', async () => {
  expect(await feeRate({ estimatesmartfee: { feerate: 0.0002 } })).toBe(20)
  expect(await feeRate({ estimatefee: 0.0003 })).toBe(30)
  expect(await feeRate({ estimatesmartfee: { feerate: 0.000001 } })).toBe(1)
})

test.each([
  ['bitcoind', { estimatesmartfee: { errors: ['Insufficient data or no feerate found'] } }],
  ['btcd', { estimatefee: -1 }],
  ['another node', {}],
])('%s without an estimate throws a Fault on mainnet and returns 1 on regtest', async (_, answers) => {
  await expect(feeRate({ ...answers, getblockhash: MAINNET })).rejects.toThrow(Fault)
  expect(await feeRate({ ...answers, getblockhash: REGTEST })).toBe(1)
})
