import { getNamedType, type GraphQLObjectType, isObjectType } from 'graphql'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { schema } from './http/graphql/schema.ts'
import { useCases } from './areas.ts'

/** Lists the paths of all fields except namespaces and their ids. */
const listPaths = (type: GraphQLObjectType, prefix = ''): readonly string[] =>
  Object.values(type.getFields()).flatMap((field) => {
    const inner = getNamedType(field.type)
    const path = `${prefix}${field.name}`
    if (isObjectType(inner) && /(Queries|Mutations)$/.test(inner.name)) return listPaths(inner, `${path}.`)
    return field.name === 'id' ? [] : [path]
  })

test.each(['Query', 'Mutation'] as const)('each field of %s has exactly one use case, and each use case has a field', (root) => {
  const type = schema.getType(root)
  assert.ok(isObjectType(type))
  const paths = useCases.filter((useCase) => useCase.root === root).map(({ path }) => path)
  assert.deepEqual(paths.toSorted(), listPaths(type).toSorted())
})

test('the rate limits of the use cases equal the documented limits', () => {
  const limits = Object.fromEntries(
    useCases.flatMap(({ path, limit }) => (limit ? [[path, `${limit.name} by ${limit.by}`]] : [])),
  )
  assert.deepEqual(limits, {
    'liquidity.buy': 'buy by ip',
    'market.order.create': 'buy by ip',
    'account.create': 'sign-up by ip',
    'account.login': 'log-in by ip',
    'account.login_challenge': 'log-in by ip',
    'account.me': 'dashboard by user',
    'account.change_password': 'dashboard by user',
    'account.log_out_everywhere': 'dashboard by user',
    'account.delete': 'dashboard by user',
    'account.sessions': 'dashboard by user',
    'account.api_keys': 'dashboard by user',
    'account.create_api_key': 'dashboard by user',
    'account.revoke_api_key': 'dashboard by user',
    'account.node.challenge': 'dashboard by user',
    'account.node.connect': 'dashboard by user',
  })
})
