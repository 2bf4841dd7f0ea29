// What all pages do in the browser. Every page works without it, except for staying up to date by itself.

import "htmx.org";
import { confirmForms } from "./confirm";
import { keyboard } from "./keyboard";
import { lineage } from "./lineage";
import { saveAsPng } from "./png";
import { keepTablesScrollable } from "./scrolling";
import { keepTimesRight } from "./times";

keepTimesRight();
keyboard();
confirmForms();
keepTablesScrollable();
lineage();
saveAsPng();
