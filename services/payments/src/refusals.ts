import { refuse } from '@penstock/kernel/decider.ts'

/** Only sandboxes are served, so far. */
export const liveRefusal = refuse('LIVE_NOT_SERVED', 'Live environments are not served yet.')

/** For a deleted object, and for an object that never existed. Callers cannot tell them apart. */
export const environmentNotFound = refuse('NOT_FOUND', 'Environment not found')
export const walletNotFound = refuse('NOT_FOUND', 'Wallet not found')
export const serviceKeyNotFound = refuse('NOT_FOUND', 'Service API key not found')
export const endpointNotFound = refuse('NOT_FOUND', 'Webhook endpoint not found')
