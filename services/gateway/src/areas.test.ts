import { getNamedType, type GraphQLObjectType, isInputObjectType, isObjectType } from 'graphql'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { schema } from './http/graphql/schema.ts'
import { type AuthenticatedCaller, credentialKinds } from './access.ts'
import { useCases } from './areas.ts'

const isNamespace = ({ name }: GraphQLObjectType): boolean => /(Queries|Query|Mutations)$/.test(name)

/** Lists the paths of all fields except namespaces and their ids. */
const listPaths = (type: GraphQLObjectType, prefix = ''): readonly string[] =>
  Object.values(type.getFields()).flatMap((field) => {
    const inner = getNamedType(field.type)
    const path = `${prefix}${field.name}`
    if (isObjectType(inner) && isNamespace(inner)) return listPaths(inner, `${path}.`)
    return field.name === 'id' ? [] : [path]
  })

test.each(['Query', 'Mutation'] as const)('each field of %s has exactly one use case, and each use case has a field', (root) => {
  const type = schema.getType(root)
  assert.ok(isObjectType(type))
  const paths = useCases.filter((useCase) => useCase.root === root).map(({ path }) => path)
  assert.deepEqual(paths.toSorted(), listPaths(type).toSorted())
})

test('each use case admits exactly the callers that its access names', () => {
  for (const { path, access } of useCases) {
    const isAdmitted = (bearer: AuthenticatedCaller | null): boolean => {
      try {
        access.check({ bearer, service: null })
        return true
      } catch {
        return false
      }
    }
    const callers = credentialKinds.map((kind) => ({ kind, accountId: '', orderId: null, credential: '' }))
    const admitted = callers.filter(isAdmitted).map(({ kind }) => kind)
    assert.deepEqual([path, isAdmitted(null), admitted], [path, access.isPublic, access.kinds])
  }
})

/** Lists the paths of all fields whose input has a password. */
const listPasswordPaths = (type: GraphQLObjectType, prefix = ''): readonly string[] =>
  Object.values(type.getFields()).flatMap((field) => {
    const inner = getNamedType(field.type)
    const names = field.args.flatMap(({ name, type: argument }) => {
      const input = getNamedType(argument)
      return [name, ...(isInputObjectType(input) ? Object.keys(input.getFields()) : [])]
    })
    return [
      ...(names.some((name) => name.includes('password')) ? [`${prefix}${field.name}`] : []),
      ...(isObjectType(inner) && isNamespace(inner) ? listPasswordPaths(inner, `${prefix}${field.name}.`) : []),
    ]
  })

test('use cases that take a password, create a caller or buy have the limits that guard them', () => {
  const mutations = schema.getMutationType()
  assert.ok(mutations)
  const guarded = ['account.login_challenge', 'account.create_api_key', 'liquidity.buy', 'market.order.create']
  const guardedPaths = new Set([...listPasswordPaths(mutations), ...guarded])
  const limits = useCases.filter(({ path }) => guardedPaths.has(path)).map(({ path, limit }) => [path, limit?.name])
  assert.deepEqual(Object.fromEntries(limits), {
    'account.create': 'sign-up',
    'account.login': 'log-in',
    'account.login_challenge': 'log-in',
    // Wrong passwords of these two also count against the limit of the account.
    'account.change_password': 'dashboard',
    'account.delete': 'dashboard',
    'account.create_api_key': 'dashboard',
    'liquidity.buy': 'buy',
    'market.order.create': 'buy',
  })
})
