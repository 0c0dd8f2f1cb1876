import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { buyChannel, waitForStatus, paySimulatedInvoice, listSimNodes } from '../support/market-client.ts'
import { sendTruncated } from './truncated-requests.ts'
import { readLogEnd, findUnexplainedFacts } from './checks/unexplained-facts.ts'
import { createRunner } from './runner.ts'
import { listResults } from './checks/response-checks.ts'
import {
  snapshotGatewayTables,
  checkStoredState,
  diffNetwork,
  diffGatewayTables,
  snapshotNetwork,
} from './checks/state-snapshot.ts'
import { type FuzzMarket, startFuzzMarket } from './fuzz-market.ts'
import { createOwners, type Owners } from './checks/owners.ts'
import { readOpenApi } from './generators/rest-targets.ts'
import { listOperations, readSchema } from './generators/schema.ts'
import type { FuzzRequest } from './request.ts'
import { createGraphqlTarget, type FuzzTarget } from './generators/targets.ts'
import { checkPermission } from './checks/authorization.ts'

const CANCEL = 'mutation ($id: String!) { market { order { cancel(input: { order_id: $id }) { success } } } }'

let market: FuzzMarket
let agents: readonly string[]
let owners: Owners
beforeAll(async () => {
  market = await startFuzzMarket()
  agents = (await listSimNodes(market.product)).filter(({ role }) => role === 'seller').map(({ pubkey }) => pubkey)
  owners = await createOwners(market.product.dataDir)
}, 120_000)
afterAll(async () => {
  await owners.close()
  await market.product.stop()
})

describe('the checks report', () => {
  test.each([
    [true, 'waits for the end of a body', 0],
    [false, 'does not', 9],
  ] as const)('a truncated request only if it is carried out (%s: the server %s)', async (waits, _, faults) => {
    const server = createServer((request, response) => {
      request.on('error', () => undefined).resume()
      if (waits) request.on('end', () => response.end())
      else response.end()
    }).listen(0, '127.0.0.1')
    await new Promise((listening) => server.once('listening', listening))
    const { port } = server.address() as AddressInfo // it listens on TCP
    const fuzzRequest: FuzzRequest = {
      target: 'it',
      caller: 'nobody',
      method: 'POST',
      path: '/',
      headers: {},
      body: '{"a":1}',
      kinds: [],
    }
    const target: FuzzTarget = { name: 'it', callers: ['nobody'], generateRequests: () => fc.constant(fuzzRequest) }
    const result = await sendTruncated({ host: '127.0.0.1', port }, { authorization: () => undefined }, [target], 1)
    server.closeAllConnections()
    server.close()
    assert.equal(result.violations.length, faults, result.violations.join('\n'))
    assert.deepEqual([...result.triedTargets], ['it'])
  })

  test('an operation that is carried out without a valid credential', async () => {
    const { product } = market
    const { id, key } = await buyChannel(product)
    const operation = listOperations(readSchema()).find(({ path }) => path.join('.') === 'market.order.cancel') ?? assert.fail()
    // Every request gets the valid key, as if the market ignored the caller.
    const runner = createRunner(
      market,
      { authorization: () => `Bearer ${key}`, identityOf: () => undefined, owners, renewCredential: () => Promise.resolve(0) },
      readOpenApi(),
    )
    const target: FuzzTarget = { ...createGraphqlTarget(operation, new Map()), name: 'mutation market.order.cancel' }
    const fuzzRequest: FuzzRequest = {
      target: target.name,
      caller: 'nobody',
      method: 'POST',
      path: '/graphql',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: CANCEL, variables: { id } }),
      kinds: [],
    }
    await assert.rejects(runner.run(target, fuzzRequest), /market\.order\.cancel was carried out for nobody/)
    assert.equal(runner.accepted.size, 0)
    const answer = (data: object) => ({ status: 200, type: 'application/json', text: JSON.stringify({ data }), tookMs: 0 })
    assert.deepEqual(listResults(answer({ market: { order: { id: 'order', a1: { success: true }, a2: null } } }), operation), [
      { success: true },
    ])
    assert.equal(checkPermission('mutation liquidity.buy', { caller: 'nobody' }, 1), undefined)
    assert.match(checkPermission('mutation liquidity.buy', { caller: 'stranger' }, 1) ?? '', /for stranger/)
    assert.match(checkPermission('POST /pages/:id', { caller: 'nobody' }, 1) ?? '', /for nobody/)
  })

  test('a fact of a seller without a known agent, and a changed payment', async () => {
    const { product } = market
    const { position } = await readLogEnd(product.dataDir)
    const before = snapshotNetwork(product.dataDir)
    assert.deepEqual(diffNetwork(before, snapshotNetwork(product.dataDir)), [])
    const { id, key, invoice } = await buyChannel(product)
    assert.deepEqual(diffNetwork(before, snapshotNetwork(product.dataDir)), [])
    await paySimulatedInvoice(product, invoice)
    await waitForStatus(product, { id, key }, ['SELLER_SENT_TRANSACTION', 'WAITING_FOR_ON_CHAIN_CONFIRMATION'])
    // The market may set the first price of the day meanwhile, so facts of other streams are ignored.
    const checkWith = async (known: readonly string[]) =>
      (await findUnexplainedFacts(product.dataDir, position, new Map([[id, 1]]), { agentPubkeys: known, rejections: 0 })).filter(
        (one) => one.includes(id),
      )
    assert.deepEqual(await checkWith(agents), [])
    assert.match((await checkWith([])).join(), /OutpointSubmitted/)
    assert.match(diffNetwork(before, snapshotNetwork(product.dataDir)).join(), /network's payments have changed/)
  })

  test('a stored record without a fact, and a changed row of a read model', async () => {
    const { dataDir } = market.product
    assert.deepEqual(await checkStoredState(dataDir, 10_000), [])
    const changed = async (file: string, statement: string, back: string) => {
      const db = new DatabaseSync(join(dataDir, file), { timeout: 5000 })
      try {
        db.exec(statement)
        return (await checkStoredState(dataDir, 0)).join('\n')
      } finally {
        db.exec(back)
        db.close()
      }
    }
    const id = '01a1f000-0000-7000-8000-000000000000'
    const put = `INSERT INTO records (id, kind, json, at) VALUES ('${id}', 'email', '{}', 0)`
    assert.match(await changed('records.db', put, `DELETE FROM records WHERE id = '${id}'`), /no fact contains record 01a1f000/)
    const turn = 'UPDATE gateway_credentials SET revoked = 1 - revoked'
    assert.match(await changed('views.db', turn, turn), /gateway_credentials has a row that does not follow from the facts/)
    assert.deepEqual(await checkStoredState(dataDir, 0), [])
  })

  test('a slot without an order, an order without a slot, a slot of another caller, and a lock on an unknown name', async () => {
    const { dataDir } = market.product
    const { id } = await buyChannel(market.product)
    const before = snapshotGatewayTables(dataDir)
    const expectNoticed = async (statement: string, back: string) => {
      const db = new DatabaseSync(join(dataDir, 'views.db'), { timeout: 5000 })
      try {
        db.exec(statement)
        const after = snapshotGatewayTables(dataDir)
        return [(await checkStoredState(dataDir, 0)).join('\n'), diffGatewayTables(before, after, Date.now()).join('\n')] as const
      } finally {
        db.exec(back)
        db.close()
      }
    }
    const ownSlot = `FROM gateway_order_slots WHERE order_id`
    const put = `INSERT INTO gateway_order_slots SELECT 'x', ip, destination, at ${ownSlot} = '${id}'`
    const [stray, isNew] = await expectNoticed(put, `DELETE ${ownSlot} = 'x'`)
    assert.match(stray, /no open order has the slot x/)
    assert.match(isNew, /gateway_order_slots has a new row/)
    const [lost, isGone] = await expectNoticed(
      `UPDATE gateway_order_slots SET order_id = 'x' WHERE order_id = '${id}'`,
      `UPDATE gateway_order_slots SET order_id = '${id}' WHERE order_id = 'x'`,
    )
    assert.match(lost, new RegExp(`order ${id} has no slot`))
    assert.match(isGone, /gateway_order_slots has lost a row/)
    const moved = (ip: string) => `UPDATE gateway_order_slots SET ip = '${ip}' WHERE order_id = '${id}'`
    assert.match((await expectNoticed(moved('1.1.1.1'), moved('127.0.0.1')))[0], /another caller's: .*1\.1\.1\.1/)
    const lock = "INSERT INTO gateway_slot_locks (name, at) VALUES ('ip unknown', 0)"
    const [odd, isTaken] = await expectNoticed(lock, "DELETE FROM gateway_slot_locks WHERE name = 'ip unknown'")
    assert.match(odd, /a lock is on "ip unknown"/)
    assert.match(isTaken, /gateway_slot_locks has a new row/)
    assert.deepEqual(
      [await checkStoredState(dataDir, 0), diffGatewayTables(before, snapshotGatewayTables(dataDir), Date.now())],
      [[], []],
    )
  })
})
