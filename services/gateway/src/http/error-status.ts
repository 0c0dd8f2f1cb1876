/** Returns the 4xx status that express and its parsers set on a caller's error; every other error has status 500. */
export function readErrorStatus(error: unknown): number {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined
  return typeof status === 'number' && status >= 400 && status < 500 ? status : 500
}
