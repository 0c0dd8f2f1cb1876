import { GraphQLError } from 'graphql'
import type { RequestCallers } from '../access.ts'
import { authenticate } from '../account/authenticate.ts'
import type { ErrorCode } from '../errors.ts'
import { authenticateService } from '../payments/keys/authenticate-service.ts'
import type { Gateway } from '../ports.ts'

/** The credentials of a request, undefined for a header that the request does not have. */
export type CredentialHeaders = { readonly authorization: string | undefined; readonly apiKey: string | undefined }

/** The callers that a request names, or the refusal of an invalid credential. Each operation of the request answers a refusal. */
export type Authentication =
  | { readonly callers: RequestCallers; readonly refusal: null }
  | { readonly callers: typeof NO_CALLERS; readonly refusal: GraphQLError }

type AuthenticationPorts = Pick<Gateway, 'views' | 'pepper' | 'clock' | 'limits' | 'config' | 'log'>

const NO_CALLERS = { bearer: null, service: null } satisfies RequestCallers

/**
 * Each header that is sent must be valid, whatever the operation.
 * @throws an error with status 429 after too many unknown keys
 */
export async function authenticateCallers(
  gateway: AuthenticationPorts,
  { authorization, apiKey }: CredentialHeaders,
  ip: string,
): Promise<Authentication> {
  try {
    const bearer = await authenticate(gateway, authorization, ip)
    return { callers: { bearer, service: await authenticateService(gateway, apiKey, ip) }, refusal: null }
  } catch (error) {
    if (isUnauthenticated(error)) return { callers: NO_CALLERS, refusal: error }
    throw error
  }
}

const isUnauthenticated = (error: unknown): error is GraphQLError =>
  error instanceof GraphQLError && error.extensions['code'] === ('UNAUTHENTICATED' satisfies ErrorCode)
