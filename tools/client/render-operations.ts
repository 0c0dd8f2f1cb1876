import { getNullableType } from 'graphql'
import {
  type ApiOperation,
  hasOnlyInput,
  isPaged,
  isRequiredArgument,
  takesIdempotencyKey,
  toCamelCase,
} from './find-operations.ts'
import { renderComment, renderInputProperty, renderTypeReference } from './render-types.ts'
import { renderSelection } from './selections.ts'

/** Renders the document that runs an operation and selects its result. */
export function renderDocument({ kind, path, arguments: given, type }: ApiOperation): string {
  const [field, ...namespaces] = path.toReversed()
  const variables = given.map(({ name, type: inputType }) => `$${name}: ${String(inputType)}`).join(', ')
  const values = given.map(({ name }) => `${name}: $${name}`).join(', ')
  const selected = `${field}${values && `(${values})`}${renderSelection(type)}`
  const body = namespaces.reduce((inner, namespace) => `${namespace} { ${inner} }`, selected)
  return `${kind} ${renderOperationName(path)}${variables && `(${variables})`} { ${body} }`
}

/** The name of an operation in the logs of a server, such as PaymentTransactionFindOne. */
const renderOperationName = (path: readonly string[]): string => path.map((name) => toCamelCase(`_${name}`)).join('')

/** Renders the table from which the client makes its functions. */
export const renderOperationTable = (operations: readonly ApiOperation[]): string =>
  `export const operationTable: readonly OperationDescriptor[] = [\n${operations
    .map(
      (operation) => `  {
    path: '${operation.path.join('.')}',
    parameters: '${operation.arguments.length === 0 ? 'none' : hasOnlyInput(operation) ? 'input' : 'named'}',
    isPaged: ${isPaged(operation)},
    repetition: '${operation.kind === 'query' ? 'harmless' : takesIdempotencyKey(operation) ? 'with-key' : 'never'}',
    document: '${renderDocument(operation)}',
  },\n`,
    )
    .join('')}]\n`

type NamespaceTree = Map<string, NamespaceTree | ApiOperation>

/** Renders the type of the client's functions, one property for each namespace and operation. */
export const renderOperationTypes = (operations: readonly ApiOperation[]): string =>
  `export type ApiOperations = ${renderNamespace(growTree(operations), '')}\n`

function growTree(operations: readonly ApiOperation[]): NamespaceTree {
  const root: NamespaceTree = new Map()
  for (const operation of operations) {
    const names = operation.path.map(toCamelCase)
    let tree = root
    for (const name of names.slice(0, -1)) {
      const inner: NamespaceTree | ApiOperation = tree.get(name) ?? new Map()
      if (!(inner instanceof Map)) throw new Error(`${names.join('.')} is below the operation ${name}`)
      tree.set(name, inner)
      tree = inner
    }
    const name = names.at(-1) ?? ''
    if (tree.has(name)) throw new Error(`the client would have two operations ${names.join('.')}`)
    tree.set(name, operation)
  }
  return root
}

function renderNamespace(tree: NamespaceTree, indent: string): string {
  const inner = `${indent}  `
  const properties = [...tree].map(([name, value]) =>
    value instanceof Map
      ? `${inner}readonly ${name}: ${renderNamespace(value, inner)}\n`
      : `${renderComment(value.description, inner)}${inner}readonly ${name}: ${renderFunctionType(value)}\n`,
  )
  return `{\n${properties.join('')}${indent}}`
}

function renderFunctionType(operation: ApiOperation): string {
  const parameters = [...renderParameters(operation), 'options?: CallOptions']
  // An operation that failed is null, and the client throws its error.
  const result = renderTypeReference(getNullableType(operation.type)).replace(/ \| null$/, '')
  return isPaged(operation)
    ? `PagedOperation<[${parameters.join(', ')}], ${result}>`
    : `(${parameters.join(', ')}) => Promise<${result}>`
}

function renderParameters(operation: ApiOperation): readonly string[] {
  const [first] = operation.arguments
  if (first === undefined) return []
  const isOptional = !operation.arguments.some(isRequiredArgument)
  const mark = isOptional ? '?' : ''
  if (hasOnlyInput(operation))
    return [`input${mark}: ${renderTypeReference(getNullableType(first.type)).replace(/ \| null$/, '')}`]
  const properties = operation.arguments.map((argument) =>
    renderInputProperty(argument.name, argument.type, isRequiredArgument(argument)),
  )
  return [`args${mark}: { ${properties.join('; ')} }`]
}
