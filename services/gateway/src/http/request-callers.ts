import type { RequestCallers } from '../access.ts'
import { authenticate } from '../account/authenticate.ts'
import { authenticateService } from '../payments/keys/authenticate-service.ts'
import type { Gateway } from '../ports.ts'

/** The credentials of a request, undefined for a header that the request does not have. */
export type CredentialHeaders = { readonly authorization: string | undefined; readonly apiKey: string | undefined }

/**
 * Each header that is sent must be valid, whatever the operation.
 * @throws unauthenticated if one of them is not, or an error with status 429 after too many unknown keys
 */
export async function authenticateCallers(
  gateway: Pick<Gateway, 'views' | 'pepper' | 'clock' | 'limits' | 'config' | 'log'>,
  { authorization, apiKey }: CredentialHeaders,
  ip: string,
): Promise<RequestCallers> {
  const bearer = await authenticate(gateway, authorization, ip)
  return { bearer, service: await authenticateService(gateway, apiKey, ip) }
}
