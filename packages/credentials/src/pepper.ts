import type { Pepper } from './credentials.ts'
import { openSecret } from '@penstock/config/secret-file.ts'

/**
 * Opens the secret key for hashing credentials, the file `pepper` of the data folder. Without it no log-in and no API key
 * works, so every backup needs it, in another place than the databases.
 */
export const openPepper = (dataDir: string): Promise<Pepper> => openSecret(dataDir, 'pepper')
