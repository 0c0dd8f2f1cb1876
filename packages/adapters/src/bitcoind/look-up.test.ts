import { expect, test } from 'vitest'
import { freshestChain } from '../blocks/freshest.ts'
import { systemClock } from '../system/clock.ts'
import { rpcChain } from './chain.ts'
import { type Rpc, RpcRefusal } from './rpc.ts'

const TXID = 'cd'.repeat(32)

/** bitcoind without this output, which answers one method with an error. Its `gettxspendingprevout` reads an index as getInt<int>(). */
function bitcoind(failing?: string, code = -28): Rpc {
  return <T>(method: string, ...params: readonly unknown[]): Promise<T> => {
    if (method === failing) return Promise.reject(new RpcRefusal(method, code, 'an error'))
    const answers: Readonly<Record<string, unknown>> = {
      getblockchaininfo: { bestblockhash: 'aa', blocks: 900, headers: 900 },
      getblockheader: { height: 900, time: 1, previousblockhash: 'bb' },
      getblockcount: 900,
      gettxout: null,
      gettxspendingprevout: [{ txid: TXID, vout: 0 }],
      getblockhash: 'aa',
    }
    const [[outpoint] = []] = params as [{ readonly vout?: number }[]?]
    if (method === 'gettxspendingprevout' && (outpoint?.vout ?? 0) > 2_147_483_647)
      return Promise.reject(new RpcRefusal(method, -1, 'JSON integer out of range'))
    if (method === 'getrawtransaction') return Promise.reject(new RpcRefusal(method, -5, 'No such mempool transaction'))
    return method in answers
      ? Promise.resolve(answers[method] as T) // what the method answers
      : Promise.reject(new RpcRefusal(method, -32601, 'Method not found'))
  }
}

const look = (rpc: Rpc, vout: number) => rpcChain(rpc, systemClock).output(`${TXID}:${vout}`, 901)

test('an output that does not exist is told so, whatever its index', async () => {
  for (const vout of [1, 65_536, 2_147_483_648, 4_294_967_295]) expect(await look(bitcoind(), vout)).toBeUndefined()
})

test('beside lnd it is told so at the first look', async () => {
  const tip = { height: 900, hash: 'aa', previousHash: 'bb', time: 1, synced: true }
  const lnd = {
    sees: { mempool: false },
    tip: async () => tip,
    output: async () => undefined,
    enteredMempoolAt: async () => null,
    tips: async function* () {
      yield tip
    },
    feeRate: async () => 1,
  }
  const chain = freshestChain(rpcChain(bitcoind(), systemClock), lnd, systemClock)
  expect(await chain.output(`${TXID}:4294967295`, 901)).toBeUndefined()
})

test.each(['gettxout', 'gettxspendingprevout', 'getrawtransaction', 'getblockcount'])(
  'an error of %s is a fault, and no word about the output',
  async (method) => {
    for (const code of [-1, -8, -28, -32601]) await expect(look(bitcoind(method, code), 1)).rejects.toThrow(RpcRefusal)
  },
)

test('only the code for "not found" says that no mempool has the transaction', async () => {
  expect(await look(bitcoind('getrawtransaction', -5), 1)).toBeUndefined()
})

/** A node that has this transaction in its mempool since a second, until it is mined. */
function since(second: number, isBtcd: boolean, node = { isMined: false }) {
  const notFound = (method: string) => Promise.reject(new RpcRefusal(method, -5, 'not in the mempool'))
  const rpc: Rpc = <T>(method: string): Promise<T> => {
    const answers: Readonly<Record<string, unknown>> = {
      gettxout: null,
      gettxspendingprevout: [{}],
      getrawtransaction: { vout: [{ n: 1, value: 1, scriptPubKey: { hex: '00' } }] },
      getmempoolentry: { time: second },
      getrawmempool: node.isMined ? {} : { [TXID]: { time: second } },
    }
    if (method === 'getmempoolentry' && isBtcd) return Promise.reject(new RpcRefusal(method, -1, 'Command unimplemented'))
    if (method === 'getmempoolentry' && node.isMined) return notFound(method)
    return Promise.resolve(answers[method] as T) // what the method answers
  }
  return { rpc, node }
}

test.each([
  ['bitcoind', false],
  ['btcd', true],
])('%s tells since which second a transaction is in its mempool, and we since when we saw it there', async (_, isBtcd) => {
  const { rpc, node } = since(1_700_000_000, isBtcd)
  const chain = rpcChain(rpc, { ...systemClock, now: () => 1_700_000_005_000 })
  expect(await chain.enteredMempoolAt(`${TXID}:1`)).toBe(1_700_000_000_999)
  node.isMined = true
  expect(await chain.enteredMempoolAt(`${TXID}:1`)).toBeNull()
  node.isMined = false
  await chain.output(`${TXID}:1`, 1)
  node.isMined = true
  expect(await chain.enteredMempoolAt(`${TXID}:1`)).toBe(1_700_000_005_000)
})

test('an error about the mempool is a fault', async () => {
  for (const code of [-1, -28])
    await expect(rpcChain(bitcoind('getmempoolentry', code), systemClock).enteredMempoolAt(`${TXID}:1`)).rejects.toThrow(
      RpcRefusal,
    )
})
