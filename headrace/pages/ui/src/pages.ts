// What all pages do in the browser. Every page works without it, except for staying up to date by itself.

import "htmx.org";
import { chooseAll } from "./choosing";
import { confirmForms, sendOnce } from "./confirm";
import { tellFailures } from "./failures";
import { keyboard } from "./keyboard";
import { lineage } from "./lineage";
import { saveAsPng } from "./png";
import { keepTablesScrollable, showWhereItIs } from "./scrolling";
import { keepTimesRight } from "./times";

keepTimesRight();
keyboard();
chooseAll();
confirmForms();
sendOnce();
tellFailures();
keepTablesScrollable();
showWhereItIs();
lineage();
saveAsPng();
