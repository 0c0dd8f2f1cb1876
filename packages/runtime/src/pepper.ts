import type { Pepper } from './credentials.ts'
import { openSecret } from './secret-file.ts'

/**
 * The secret under which credentials are hashed: the file `pepper` of the data folder. Without it nobody can log in and
 * no key works, so it belongs into every backup, apart from the databases.
 */
export const openPepper = (dataDir: string): Promise<Pepper> => openSecret(dataDir, 'pepper')
