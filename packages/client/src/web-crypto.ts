import type { webcrypto } from 'node:crypto'

/** Returns the Web Crypto API. Node 18 has it only in a module. */
export async function loadWebCrypto(): Promise<webcrypto.Crypto> {
  // Older runtimes lack the global, although the types say that it is there.
  const { crypto } = globalThis as { readonly crypto?: webcrypto.Crypto }
  if (crypto) return crypto
  // A bundler for browsers must not find the module, so the name is put together where no bundler computes it.
  const name = ['node', 'crypto'].join(':')
  const module = (await import(/* webpackIgnore: true */ /* @vite-ignore */ name)) as { readonly webcrypto: webcrypto.Crypto }
  return module.webcrypto
}

/** Creates a key that no other call has: 128 random bits in hex digits. */
export async function createIdempotencyKey(): Promise<string> {
  const bytes = (await loadWebCrypto()).getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
