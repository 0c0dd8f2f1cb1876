import { readFileSync } from 'node:fs'
import {
  buildSchema,
  getNamedType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isNonNullType,
  isObjectType,
} from 'graphql'

export type Operation = {
  readonly kind: 'query' | 'mutation'
  /** The path from the root, for example `market.order.cancel`. */
  readonly path: readonly string[]
  readonly field: GraphQLField<unknown, unknown>
}

export const readSchema = (): GraphQLSchema =>
  buildSchema(readFileSync(new URL('../../../docs/api/schema.graphql', import.meta.url), 'utf8'))

/** Lists every operation. A namespace is a non-null object without arguments, and its nullable fields are operations. */
export function listOperations(schema: GraphQLSchema): readonly Operation[] {
  const listWithin = (kind: Operation['kind'], type: GraphQLObjectType, parentPath: readonly string[]): readonly Operation[] =>
    Object.values(type.getFields()).flatMap((field) => {
      const path = [...parentPath, field.name]
      const nested = findNamespace(field)
      if (nested) return listWithin(kind, nested, path)
      return isNonNullType(field.type) ? [] : [{ kind, path, field }]
    })
  const [queries, mutations] = [schema.getQueryType(), schema.getMutationType()]
  return [...(queries ? listWithin('query', queries, []) : []), ...(mutations ? listWithin('mutation', mutations, []) : [])]
}

function findNamespace({ type, args }: GraphQLField<unknown, unknown>): GraphQLObjectType | undefined {
  const nested = isNonNullType(type) && args.length === 0 ? type.ofType : undefined
  return isObjectType(nested) ? nested : undefined
}

/** Formats a selection of all fields of an object type, with nested objects up to a depth. */
export function formatSelection(type: GraphQLOutputType, depth = 3): string {
  const named = getNamedType(type)
  if (!isObjectType(named)) return ''
  const fields = Object.values(named.getFields()).flatMap((field) => {
    const nested = formatSelection(field.type, depth - 1)
    const isObject = isObjectType(getNamedType(field.type))
    return isObject && (nested === '' || depth === 0) ? [] : [`${field.name}${nested}`]
  })
  return depth === 0 ? '' : ` { ${fields.join(' ')} }`
}
