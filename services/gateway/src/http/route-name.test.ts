import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { toMethodName, toRouteName } from './route-name.ts'

const TOKEN = 'A'.repeat(43)
const names: Readonly<Record<string, string>> = {
  '/': '/',
  '/graphql': '/graphql',
  '/GraphQL/': '/graphql',
  '/graphql/explorer.mjs': '/graphql/:asset',
  '/api/lsp/v1/rails/create_order': '/api/lsp/v1/:type/create_order',
  '/api/lsp/v1/cheapest/api/v1/get_info': '/api/lsp/v1/:type/get_info',
  '/api/lsp/v1/cheapest/get_order': '/api/lsp/v1/:type/get_order',
  '/api/lsp/v1/nothing': 'other',
  [`/checkout/${TOKEN}`]: '/checkout/:token',
  [`/orders/${TOKEN}/events`]: '/orders/:token/events',
  '/operator/orders/0d9a4b52-6c1f-4b7e-9d28-3f6a1c5e7b90': '/operator/:route',
  '/healthz': '/healthz',
  '/favicon.ico': 'other',
}

for (const [path, name] of Object.entries(names)) test(`${path} is named ${name}`, () => assert.equal(toRouteName(path), name))

test('a route name contains no text of a caller', () => {
  const known = new Set([...Object.values(names), '/orders/:token', '/checkout/:token/events', '/readyz'])
  const path = fc.array(fc.string({ maxLength: 12 }), { maxLength: 6 }).map((parts) => `/${parts.join('/')}`)
  fc.assert(fc.property(path, (requested) => known.has(toRouteName(requested))))
  assert.equal(toMethodName('POST'), 'POST')
  assert.equal(toMethodName('PROPFIND'), 'other')
})
