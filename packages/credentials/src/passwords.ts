import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import type { Pepper } from './credentials.ts'

/** The parameters that OWASP recommends for Argon2id (RFC 9106). Each hash contains its own, so that these may change. */
const MEMORY_KIB = 19_456
const PASSES = 2
const TAG_BYTES = 32
const SALT_BYTES = 16
const SHAPE = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=1\$([\w+/]{16,86})\$([\w+/]{22,86})$/

type Cost = { readonly memoryKib: number; readonly passes: number; readonly tagBytes: number }

const derive = promisify(argon2)

/** @returns the hash in the PHC string format */
export async function hashPassword(pepper: Pepper, password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const tag = await argon2id(pepper, password, salt, { memoryKib: MEMORY_KIB, passes: PASSES, tagBytes: TAG_BYTES })
  return `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=1$${toUnpaddedBase64(salt)}$${toUnpaddedBase64(tag)}`
}

/**
 * @param stored the hash; undefined if no account has the address. The call then takes as long as with a hash, so that its
 * duration does not reveal which addresses have accounts.
 */
export async function verifyPassword(pepper: Pepper, password: string, stored: string | undefined): Promise<boolean> {
  const [, memory, passes, salt, tag] = SHAPE.exec(stored ?? '') ?? []
  if (memory === undefined || salt === undefined || tag === undefined) {
    await argon2id(pepper, password, randomBytes(SALT_BYTES), { memoryKib: MEMORY_KIB, passes: PASSES, tagBytes: TAG_BYTES })
    return false
  }
  const expected = Buffer.from(tag, 'base64')
  const cost = { memoryKib: Number(memory), passes: Number(passes), tagBytes: expected.length }
  return timingSafeEqual(expected, await argon2id(pepper, password, Buffer.from(salt, 'base64'), cost))
}

/** Runs at most two hashes at a time in Node's thread pool, so that threads stay free for files and DNS. */
const argon2id = (secret: Pepper, password: string, nonce: Buffer, { memoryKib, passes, tagBytes }: Cost): Promise<Buffer> =>
  withSlot(() =>
    derive('argon2id', {
      message: password.normalize('NFKC'),
      nonce,
      secret,
      parallelism: 1,
      memory: memoryKib,
      passes,
      tagLength: tagBytes,
    }),
  )

const MAX_CONCURRENT = 2
let running = 0
const waiting: (() => void)[] = []

async function withSlot<T>(work: () => Promise<T>): Promise<T> {
  if (running >= MAX_CONCURRENT) await new Promise<void>((go) => waiting.push(go))
  else running++
  try {
    return await work()
  } finally {
    // The slot passes to the next waiting call, or becomes free.
    const next = waiting.shift()
    if (next) next()
    else running--
  }
}

const toUnpaddedBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64').replace(/=+$/, '')
