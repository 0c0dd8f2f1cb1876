import { afterAll, beforeAll, expect, test } from 'vitest'
import { buyChannel, sendGraphql } from '../support/market-client.ts'
import { type Product, makeTempFolder, startProduct } from '../support/product.ts'

const SHOP = 'https://market.example'
const OFFERS = '{ market { offer { offers { total_count } } } }'

let first: Product
let second: Product
beforeAll(async () => {
  first = await startProduct(makeTempFolder())
  // A shell may set PENSTOCK_URL to the address of the other market.
  second = await startProduct(makeTempFolder(), { PENSTOCK_URL: first.url, PENSTOCK_PUBLIC_URL: `${SHOP}/` })
})
afterAll(async () => {
  await Promise.all([first, second].map((product) => product.stop()))
})

const countOffers = async ({ url }: Product): Promise<number> => {
  const { data } = await sendGraphql<{ market: { offer: { offers: { total_count: number } } } }>(url, OFFERS)
  return data?.market.offer.offers.total_count ?? -1
}

test('a second market on a machine has its own sellers, and none of them sells at the first market', async () => {
  await buyChannel(first)
  const before = await countOffers(first)
  await buyChannel(second)
  expect([await countOffers(first), await countOffers(second)]).toEqual([before, before])
})

test('a market ignores PENSTOCK_URL without a word', () => {
  expect(second.output()).not.toContain('PENSTOCK_URL')
})

test('links contain the public address of the market', async () => {
  const { page } = await buyChannel(second)
  expect(page).toMatch(/^https:\/\/market\.example\/checkout\/[\w-]{43}$/)
  expect((await fetch(page.replace(SHOP, second.url))).status).toBe(200)
})
