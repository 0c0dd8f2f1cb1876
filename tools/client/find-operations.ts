import {
  getNamedType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isInputObjectType,
  isNonNullType,
  isObjectType,
  isRequiredInputField,
} from 'graphql'

/** A field of the API that does something. The fields around it are namespaces. */
export type ApiOperation = {
  readonly kind: 'query' | 'mutation'
  /** The names of the namespaces and of the field, from the root. */
  readonly path: readonly string[]
  readonly description: string | undefined
  readonly arguments: readonly GraphQLArgument[]
  readonly type: GraphQLOutputType
}

/**
 * Finds the operations of a schema, in its order. A namespace is a field without arguments whose value is an object and never
 * null. Every operation may be null, because a failed field is null.
 */
export const findOperations = (schema: GraphQLSchema): readonly ApiOperation[] => [
  ...listOperationsOf(schema.getQueryType(), 'query', []),
  ...listOperationsOf(schema.getMutationType(), 'mutation', []),
]

function listOperationsOf(
  type: GraphQLObjectType | null | undefined,
  kind: ApiOperation['kind'],
  namespaces: readonly string[],
): readonly ApiOperation[] {
  return Object.values(type?.getFields() ?? {}).flatMap((field): readonly ApiOperation[] => {
    const path = [...namespaces, field.name]
    const namespace = findNamespace(field)
    if (namespace) return listOperationsOf(namespace, kind, path)
    // Only the id of a namespace is never null.
    if (isNonNullType(field.type)) return []
    return [{ kind, path, description: field.description ?? undefined, arguments: field.args, type: field.type }]
  })
}

const findNamespace = ({ type, args }: GraphQLField<unknown, unknown>): GraphQLObjectType | undefined =>
  isNonNullType(type) && isObjectType(type.ofType) && args.length === 0 ? type.ofType : undefined

/** Whether the only argument of an operation is its input, which then is the parameter of the client's function. */
export const hasOnlyInput = ({ arguments: [first, second] }: ApiOperation): boolean =>
  first?.name === 'input' && second === undefined

/** Whether the caller has to give an argument. */
export const isRequiredArgument = ({ type, defaultValue }: GraphQLArgument): boolean =>
  isNonNullType(type) && defaultValue === undefined

/** Whether a repeated mutation has the effect of the first one, because its input has an idempotency key. */
export const takesIdempotencyKey = (operation: ApiOperation): boolean =>
  operation.kind === 'mutation' && hasOnlyInput(operation) && hasInputField(operation, 'idempotency_key')

/** Whether an operation returns one page of a list. */
export function isPaged(operation: ApiOperation): boolean {
  const type = getNamedType(operation.type)
  const hasPage = operation.arguments.some(({ name }) => name === 'page') || hasInputField(operation, 'page')
  return hasPage && isObjectType(type) && ['list', 'total_count'].every((name) => name in type.getFields())
}

const hasInputField = ({ arguments: given }: ApiOperation, name: string): boolean =>
  given.some((argument) => argument.name === 'input' && findInputField(argument.type, name))

function findInputField(type: GraphQLInputType, name: string): boolean {
  const named = getNamedType(type)
  const field = isInputObjectType(named) ? named.getFields()[name] : undefined
  return field !== undefined && !isRequiredInputField(field)
}

/** `find_one` becomes `findOne`. */
export const toCamelCase = (name: string): string => name.replaceAll(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
