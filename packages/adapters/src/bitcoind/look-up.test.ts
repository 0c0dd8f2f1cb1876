import { expect, test } from 'vitest'
import { MempoolUnavailable } from '@penstock/ports/chain.ts'
import { createChainFailover } from '../blocks/chain-failover.ts'
import { stillClock } from '@penstock/ports/still-clock.fixture.ts'
import { rpcChain } from './chain.ts'
import { type Rpc, RpcError } from './rpc.ts'

const TXID = 'cd'.repeat(32)

/**
 * A bitcoind that does not have the output. It rejects calls of the method `failing` with `code`. Like a real node, it reads the
 * output index of `gettxspendingprevout` as a signed 32-bit number.
 */
function bitcoind(failing?: string, code = -28): Rpc {
  return <T>(method: string, ...params: readonly unknown[]): Promise<T> => {
    if (method === failing) return Promise.reject(new RpcError(method, code, 'an error'))
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
      return Promise.reject(new RpcError(method, -1, 'JSON integer out of range'))
    if (method === 'getrawtransaction') return Promise.reject(new RpcError(method, -5, 'No such mempool transaction'))
    return method in answers
      ? Promise.resolve(answers[method] as T) // the answer of the method
      : Promise.reject(new RpcError(method, -32601, 'Method not found'))
  }
}

const findOutput = (rpc: Rpc, vout: number) => rpcChain(rpc, stillClock).output(`${TXID}:${vout}`, 901)

test('a lookup of a missing output returns undefined for every index', async () => {
  for (const vout of [1, 65_536, 2_147_483_648, 4_294_967_295]) expect(await findOutput(bitcoind(), vout)).toBeUndefined()
})

test('the failover to lnd reports a missing output at the first lookup', async () => {
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
  const chain = createChainFailover(rpcChain(bitcoind(), stillClock), lnd, stillClock)
  expect(await chain.output(`${TXID}:4294967295`, 901)).toBeUndefined()
})

test.each(['gettxout', 'gettxspendingprevout', 'getrawtransaction', 'getblockcount'])(
  'an error of %s throws an RpcError and does not count as a missing output',
  async (method) => {
    for (const code of [-1, -8, -28, -32601]) await expect(findOutput(bitcoind(method, code), 1)).rejects.toThrow(RpcError)
  },
)

test('only error code -5 means that the mempool lacks the transaction', async () => {
  expect(await findOutput(bitcoind('getrawtransaction', -5), 1)).toBeUndefined()
})

/** A node whose mempool contains the transaction from the given second on, until `isMined` is set. */
function nodeSince(second: number, isBtcd: boolean, node = { isMined: false }) {
  const notFound = (method: string) => Promise.reject(new RpcError(method, -5, 'not in the mempool'))
  const rpc: Rpc = <T>(method: string): Promise<T> => {
    const answers: Readonly<Record<string, unknown>> = {
      gettxout: null,
      gettxspendingprevout: [{}],
      getrawtransaction: { vout: [{ n: 1, value: 1, scriptPubKey: { hex: '00' } }] },
      getmempoolentry: { time: second },
      getrawmempool: node.isMined ? {} : { [TXID]: { time: second } },
    }
    if (method === 'getmempoolentry' && isBtcd) return Promise.reject(new RpcError(method, -1, 'Command unimplemented'))
    if (method === 'getmempoolentry' && node.isMined) return notFound(method)
    return Promise.resolve(answers[method] as T) // the answer of the method
  }
  return { rpc, node }
}

test.each([
  ['bitcoind', false],
  ['btcd', true],
])('the mempool time of a transaction comes from %s, or from our first lookup once a block has it', async (_, isBtcd) => {
  const { rpc, node } = nodeSince(1_700_000_000, isBtcd)
  const chain = rpcChain(rpc, { ...stillClock, now: () => 1_700_000_005_000 })
  expect(await chain.enteredMempoolAt(`${TXID}:1`)).toBe(1_700_000_000_999)
  node.isMined = true
  expect(await chain.enteredMempoolAt(`${TXID}:1`)).toBeNull()
  node.isMined = false
  await chain.output(`${TXID}:1`, 1)
  node.isMined = true
  expect(await chain.enteredMempoolAt(`${TXID}:1`)).toBe(1_700_000_005_000)
})

test('an error of a mempool call throws an RpcError', async () => {
  for (const code of [-1, -28])
    await expect(rpcChain(bitcoind('getmempoolentry', code), stillClock).enteredMempoolAt(`${TXID}:1`)).rejects.toThrow(RpcError)
})

const unspent = { bestblock: 'aa', confirmations: 4, value: 0.01, scriptPubKey: { hex: `0020${'11'.repeat(32)}` } }

/** A node with an unspent output. */
function nodeWithOutput(answers: Readonly<Record<string, () => unknown>>): Rpc {
  const all: Readonly<Record<string, () => unknown>> = {
    gettxout: () => unspent,
    gettxspendingprevout: () => [{}],
    getblockheader: () => ({ height: 904, time: 1, previousblockhash: 'bb' }),
    getblockhash: () => 'aa',
    getblock: () => ({ tx: [TXID] }),
    getblockcount: () => 904,
    ...answers,
  }
  return <T>(method: string): Promise<T> => Promise.resolve(all[method]?.() as T) // the answer of the method
}

test('a block between the calls hides no spend: the output is read again', async () => {
  let isMined = false
  const rpc = nodeWithOutput({
    gettxout: () => (isMined ? null : unspent),
    gettxspendingprevout: () => {
      isMined = true
      return [{}]
    },
    getblockcount: () => (isMined ? 905 : 904),
  })
  const output = await rpcChain(rpc, stillClock).output(`${TXID}:0`, 906)
  expect(output).toBeUndefined()
})

test('a lookup in one state of the chain finds the unspent output', async () => {
  const output = await rpcChain(nodeWithOutput({}), stillClock).output(`${TXID}:0`, 850)
  expect(output).toMatchObject({ height: 901, spentBy: null })
})

test('a lookup throws MempoolUnavailable if each try meets a new block, and while the mempool is being loaded', async () => {
  let blocks = 0
  const moving = nodeWithOutput({ gettxout: () => ({ ...unspent, bestblock: `${blocks++}` }) })
  await expect(rpcChain(moving, stillClock).output(`${TXID}:0`, 850)).rejects.toThrow(MempoolUnavailable)
  const loading = nodeWithOutput({ getmempoolinfo: () => ({ loaded: false, size: 0 }) })
  await expect(rpcChain(loading, stillClock).output(`${TXID}:0`, 850)).rejects.toThrow(MempoolUnavailable)
})
