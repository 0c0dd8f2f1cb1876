import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import type { Pepper } from './credentials.ts'

/** Argon2id (RFC 9106) with the parameters that OWASP recommends; each hash carries its own, so they can grow. */
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
  return `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=1$${unpadded(salt)}$${unpadded(tag)}`
}

/** @param stored undefined where nobody has the address: the answer takes as long as any, so that it tells nothing */
export async function verifyPassword(pepper: Pepper, password: string, stored: string | undefined): Promise<boolean> {
  const [, memory, passes, salt, tag] = SHAPE.exec(stored ?? '') ?? []
  if (memory === undefined || salt === undefined || tag === undefined) {
    await argon2id(pepper, password, randomBytes(SALT_BYTES), { memoryKib: MEMORY_KIB, passes: PASSES, tagBytes: TAG_BYTES })
    return false
  }
  const wanted = Buffer.from(tag, 'base64')
  const cost = { memoryKib: Number(memory), passes: Number(passes), tagBytes: wanted.length }
  return timingSafeEqual(wanted, await argon2id(pepper, password, Buffer.from(salt, 'base64'), cost))
}

/** Runs in the thread pool, two at a time: the pool's other threads stay free for files and names. */
const argon2id = (secret: Pepper, password: string, nonce: Buffer, { memoryKib, passes, tagBytes }: Cost): Promise<Buffer> =>
  inTurn(() =>
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

const AT_ONCE = 2
let running = 0
const waiting: (() => void)[] = []

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE) await new Promise<void>((go) => waiting.push(go))
  else running++
  try {
    return await work()
  } finally {
    // The place goes to the next in line, or becomes free.
    const next = waiting.shift()
    if (next) next()
    else running--
  }
}

const unpadded = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64').replace(/=+$/, '')
