import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { buy, follow, pay, simNodes } from '../harness/buyer.ts'
import { fireCut } from './cut-shots.ts'
import { endOf, unexplained } from './facts.ts'
import { openGun } from './gun.ts'
import { resultsOf } from './judge.ts'
import { booksOf, keptFaults, movedIn, rewritten, worldOf } from './keeping.ts'
import { type Market, openMarket } from './market.ts'
import { openOwners, type Owners } from './owners.ts'
import { readOpenApi } from './rest.ts'
import { operationsOf, readSchema } from './schema.ts'
import type { Shot } from './shot.ts'
import { graphqlTarget, type Target } from './targets.ts'
import { trespass } from './trespass.ts'

const CANCEL = 'mutation ($id: String!) { market { order { cancel(input: { order_id: $id }) { success } } } }'

let market: Market
let agents: readonly string[]
let owners: Owners
beforeAll(async () => {
  market = await openMarket()
  agents = (await simNodes(market.product)).filter(({ role }) => role === 'seller').map(({ pubkey }) => pubkey)
  owners = await openOwners(market.product.dataDir)
}, 120_000)
afterAll(async () => {
  await owners.close()
  await market.product.stop()
})

describe('what every look has to notice', () => {
  test.each([
    [true, 'waits for the end of a body', 0],
    [false, 'does not', 9],
  ] as const)('who carries out a request whose end was cut off: %s, it %s', async (waits, _, faults) => {
    const server = createServer((request, response) => {
      request.on('error', () => undefined).resume()
      if (waits) request.on('end', () => response.end())
      else response.end()
    }).listen(0, '127.0.0.1')
    await new Promise((listening) => server.once('listening', listening))
    const { port } = server.address() as AddressInfo // of a server that listens
    const shot: Shot = { target: 'it', caller: 'nobody', method: 'POST', path: '/', headers: {}, body: '{"a":1}', kinds: [] }
    const target: Target = { name: 'it', callers: ['nobody'], shots: () => fc.constant(shot) }
    const cut = await fireCut({ host: '127.0.0.1', port }, { authorization: () => undefined }, [target], 1)
    server.closeAllConnections()
    server.close()
    assert.equal(cut.faults.length, faults, cut.faults.join('\n'))
    assert.deepEqual([...cut.tried], ['it'])
  })

  test('what is carried out for nobody and for a stranger', async () => {
    const { product } = market
    const { id, key } = await buy(product)
    const operation = operationsOf(readSchema()).find(({ path }) => path.join('.') === 'market.order.cancel') ?? assert.fail()
    // As if the market did not look at who asks: the right key is put in for whoever shoots.
    const gun = openGun(
      market,
      { authorization: () => `Bearer ${key}`, identityOf: () => undefined, owners, renew: () => Promise.resolve(0) },
      readOpenApi(),
    )
    const target: Target = { ...graphqlTarget(operation, new Map()), name: 'mutation market.order.cancel' }
    const shot: Shot = {
      target: target.name,
      caller: 'nobody',
      method: 'POST',
      path: '/graphql',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: CANCEL, variables: { id } }),
      kinds: [],
    }
    await assert.rejects(gun.shoot(target, shot), /market\.order\.cancel was carried out for nobody/)
    assert.equal(gun.accepted.size, 0)
    const answer = (data: object) => ({ status: 200, type: 'application/json', text: JSON.stringify({ data }), tookMs: 0 })
    assert.deepEqual(resultsOf(answer({ market: { order: { id: 'order', a1: { success: true }, a2: null } } }), operation), [
      { success: true },
    ])
    assert.equal(trespass('mutation liquidity.buy', { caller: 'nobody' }, 1), undefined)
    assert.match(trespass('mutation liquidity.buy', { caller: 'stranger' }, 1) ?? '', /for stranger/)
    assert.match(trespass('POST /pages/:id', { caller: 'nobody' }, 1) ?? '', /for nobody/)
  })

  test('what a seller says who is no agent, and money that moves', async () => {
    const { product } = market
    const { position } = await endOf(product.dataDir)
    const before = worldOf(product.dataDir)
    assert.deepEqual(movedIn(before, worldOf(product.dataDir)), [])
    const { id, key, invoice } = await buy(product)
    assert.deepEqual(movedIn(before, worldOf(product.dataDir)), [])
    await pay(product, invoice)
    await follow(product, { id, key }, ['SELLER_SENT_TRANSACTION', 'WAITING_FOR_ON_CHAIN_CONFIRMATION'])
    // The first price of a day may be set meanwhile.
    const foundWith = async (known: readonly string[]) =>
      (await unexplained(product.dataDir, position, new Map([[id, 1]]), { agents: known, rejections: 0 })).filter((one) =>
        one.includes(id),
      )
    assert.deepEqual(await foundWith(agents), [])
    assert.match((await foundWith([])).join(), /OutpointOffered/)
    assert.match(movedIn(before, worldOf(product.dataDir)).join(), /network's payments have changed/)
  })

  test('a record of which no fact speaks, and a row of a read model', async () => {
    const { dataDir } = market.product
    assert.deepEqual(await keptFaults(dataDir, 10_000), [])
    const changed = async (file: string, statement: string, back: string) => {
      const db = new DatabaseSync(join(dataDir, file))
      try {
        db.exec(statement)
        return (await keptFaults(dataDir, 0)).join('\n')
      } finally {
        db.exec(back)
        db.close()
      }
    }
    const id = '01a1f000-0000-7000-8000-000000000000'
    const put = `INSERT INTO records (id, kind, json, at) VALUES ('${id}', 'email', '{}', 0)`
    assert.match(await changed('records.db', put, `DELETE FROM records WHERE id = '${id}'`), /no fact speaks of record 01a1f000/)
    const turn = 'UPDATE gateway_credentials SET revoked = 1 - revoked'
    assert.match(await changed('views.db', turn, turn), /gateway_credentials has a row that the facts do not make/)
    assert.deepEqual(await keptFaults(dataDir, 0), [])
  })

  test('a slot that an order left, lost or took for somebody else, and a lock on nothing', async () => {
    const { dataDir } = market.product
    const { id } = await buy(market.product)
    const before = booksOf(dataDir)
    const seen = async (statement: string, back: string) => {
      const db = new DatabaseSync(join(dataDir, 'views.db'))
      try {
        db.exec(statement)
        const after = booksOf(dataDir)
        return [(await keptFaults(dataDir, 0)).join('\n'), rewritten(before, after, Date.now()).join('\n')] as const
      } finally {
        db.exec(back)
        db.close()
      }
    }
    const own = `FROM gateway_order_slots WHERE order_id`
    const put = `INSERT INTO gateway_order_slots SELECT 'x', ip, destination, at ${own} = '${id}'`
    const [stray, isNew] = await seen(put, `DELETE ${own} = 'x'`)
    assert.match(stray, /no open order has the slot x/)
    assert.match(isNew, /gateway_order_slots has a new row/)
    const [lost, isGone] = await seen(
      `UPDATE gateway_order_slots SET order_id = 'x' WHERE order_id = '${id}'`,
      `UPDATE gateway_order_slots SET order_id = '${id}' WHERE order_id = 'x'`,
    )
    assert.match(lost, new RegExp(`order ${id} has no slot`))
    assert.match(isGone, /gateway_order_slots has lost a row/)
    const moved = (ip: string) => `UPDATE gateway_order_slots SET ip = '${ip}' WHERE order_id = '${id}'`
    assert.match((await seen(moved('1.1.1.1'), moved('127.0.0.1')))[0], /another caller's: .*1\.1\.1\.1/)
    const lock = "INSERT INTO gateway_slot_locks (name, at) VALUES ('ip unknown', 0)"
    const [odd, isTaken] = await seen(lock, "DELETE FROM gateway_slot_locks WHERE name = 'ip unknown'")
    assert.match(odd, /a lock is on "ip unknown"/)
    assert.match(isTaken, /gateway_slot_locks has a new row/)
    assert.deepEqual([await keptFaults(dataDir, 0), rewritten(before, booksOf(dataDir), Date.now())], [[], []])
  })
})
