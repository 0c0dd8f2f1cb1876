import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { methodName, routeName } from './route-name.ts'

const TOKEN = 'A'.repeat(43)
const names: Readonly<Record<string, string>> = {
  '/': '/',
  '/graphql': '/graphql',
  '/GraphQL/': '/graphql',
  '/graphql/explorer.mjs': '/graphql/:asset',
  '/api/lsp/v1/rails/create_order': '/api/lsp/v1/:type/create_order',
  '/api/lsp/v1/cheapest/get_order': '/api/lsp/v1/:type/get_order',
  '/api/lsp/v1/nothing': 'other',
  [`/checkout/${TOKEN}`]: '/checkout/:token',
  [`/orders/${TOKEN}/events`]: '/orders/:token/events',
  '/operator/orders/0d9a4b52-6c1f-4b7e-9d28-3f6a1c5e7b90': '/operator/:route',
  '/healthz': '/healthz',
  '/favicon.ico': 'other',
}

for (const [path, name] of Object.entries(names)) test(`${path} is named ${name}`, () => assert.equal(routeName(path), name))

test('nothing that a caller writes gets into a name', () => {
  const known = new Set([
    ...Object.values(names),
    '/orders/:token',
    '/checkout/:token/events',
    '/api/lsp/v1/:type/get_info',
    '/readyz',
  ])
  const path = fc.array(fc.string({ maxLength: 12 }), { maxLength: 6 }).map((parts) => `/${parts.join('/')}`)
  fc.assert(fc.property(path, (asked) => known.has(routeName(asked))))
  assert.equal(methodName('POST'), 'POST')
  assert.equal(methodName('PROPFIND'), 'other')
})
