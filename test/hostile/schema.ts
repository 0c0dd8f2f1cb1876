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
  /** From the root: `market.order.cancel`. */
  readonly path: readonly string[]
  readonly field: GraphQLField<unknown, unknown>
}

export const readSchema = (): GraphQLSchema =>
  buildSchema(readFileSync(new URL('../../docs/api/schema.graphql', import.meta.url), 'utf8'))

/** Every operation: namespaces are objects that are never null and take nothing, operations are what stands in them. */
export function operationsOf(schema: GraphQLSchema): readonly Operation[] {
  const within = (kind: Operation['kind'], type: GraphQLObjectType, above: readonly string[]): readonly Operation[] =>
    Object.values(type.getFields()).flatMap((field) => {
      const path = [...above, field.name]
      const inner = namespaceOf(field)
      if (inner) return within(kind, inner, path)
      return isNonNullType(field.type) ? [] : [{ kind, path, field }]
    })
  const [queries, mutations] = [schema.getQueryType(), schema.getMutationType()]
  return [...(queries ? within('query', queries, []) : []), ...(mutations ? within('mutation', mutations, []) : [])]
}

function namespaceOf({ type, args }: GraphQLField<unknown, unknown>): GraphQLObjectType | undefined {
  const inner = isNonNullType(type) && args.length === 0 ? type.ofType : undefined
  return isObjectType(inner) ? inner : undefined
}

/** All plain fields of a type, and of what they hold, so deep. */
export function selectionOf(type: GraphQLOutputType, depth = 3): string {
  const named = getNamedType(type)
  if (!isObjectType(named)) return ''
  const fields = Object.values(named.getFields()).flatMap((field) => {
    const inner = selectionOf(field.type, depth - 1)
    const isObject = isObjectType(getNamedType(field.type))
    return isObject && (inner === '' || depth === 0) ? [] : [`${field.name}${inner}`]
  })
  return depth === 0 ? '' : ` { ${fields.join(' ')} }`
}
