import { HeaderMap } from '@apollo/server'
import { BREAK, type DocumentNode, GraphQLError, type OperationDefinitionNode, visit } from 'graphql'

/** Matches the names of arguments with secret values. */
const SECRET_ARGUMENT = /password|secret|macaroon|preimage|signature/i

/** @throws an error with status 405 if the document must be sent by POST */
export function assertAllowedByGet(document: DocumentNode, { operation }: OperationDefinitionNode): void {
  if (operation !== 'query') throw postRequired('GET accepts only queries; send mutations by POST.')
  if (hasSecretArgument(document))
    throw postRequired('Send this query by POST, because it has a secret argument and logs store URLs.')
}

function hasSecretArgument(document: DocumentNode): boolean {
  let found = false
  visit(document, {
    Argument: ({ name }) => {
      if (!SECRET_ARGUMENT.test(name.value)) return undefined
      found = true
      return BREAK
    },
  })
  return found
}

const postRequired = (message: string): GraphQLError =>
  new GraphQLError(message, {
    extensions: { code: 'GRAPHQL_VALIDATION_FAILED', http: { status: 405, headers: new HeaderMap([['allow', 'POST']]) } },
  })
