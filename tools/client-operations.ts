import { type GraphQLSchema, isObjectType, parse } from 'graphql'
import { readConfig } from '../packages/config/src/config.ts'
import { measureComplexity } from '../services/gateway/src/http/graphql/cost.ts'
import { schema } from '../services/gateway/src/http/graphql/schema.ts'
import { type ApiOperation, findOperations } from './client/find-operations.ts'
import { renderDocument, renderOperationTable, renderOperationTypes } from './client/render-operations.ts'
import { renderDeclarations } from './client/render-types.ts'
import { OMITTED_FIELDS } from './client/selections.ts'
import { type GeneratedFiles, readText } from './generated-files.ts'

const HEADER = '// From the schema: npm run generate\n'
const API_IMPORTS = "import type { CallOptions, PagedOperation } from '../operation.ts'\n"
const TABLE_IMPORTS = "import type { OperationDescriptor } from '../operation.ts'\n"

/** Renders the types and the operations of `@penstock/client`. Every operation of the schema is in it. */
export function renderClientOperations(): GeneratedFiles {
  const operations = findOperations(schema)
  assertOmittedFieldsExist(schema)
  operations.forEach(assertIsAllowed)
  const types = operations.flatMap(({ arguments: given, type }) => [...given.map((argument) => argument.type), type])
  const api = [HEADER, API_IMPORTS, renderOperationTypes(operations), renderDeclarations(types)]
  return new Map([
    ['packages/client/src/generated/api.ts', api.join('\n')],
    ['packages/client/src/generated/operation-table.ts', [HEADER, TABLE_IMPORTS, renderOperationTable(operations)].join('\n')],
    ['packages/client/LICENSE', readText('LICENSE')],
  ])
}

function assertOmittedFieldsExist(given: GraphQLSchema): void {
  for (const [typeName, names] of Object.entries(OMITTED_FIELDS)) {
    const type = given.getType(typeName)
    const missing = names.filter((name) => !isObjectType(type) || !(name in type.getFields()))
    if (missing.length > 0) throw new Error(`remove ${typeName}.${missing.join(', ')} from OMITTED_FIELDS: the schema lacks it`)
  }
}

/** Every document, with the largest page, has to fit into the limits that a gateway has by default. */
function assertIsAllowed(operation: ApiOperation): void {
  const page = { limit: 100 }
  const [definition] = parse(renderDocument(operation)).definitions
  if (definition?.kind !== 'OperationDefinition') throw new Error('a document has one operation')
  const { cost, depth } = measureComplexity(definition, new Map(), { page, input: { page } })
  const { queryCost, queryDepth } = readConfig({})
  if (cost > queryCost || depth > queryDepth)
    throw new Error(
      `${operation.path.join('.')} costs ${cost} of ${queryCost} points and has ${depth} of ${queryDepth} levels: add fields to OMITTED_FIELDS`,
    )
}
